"""A virtual Spark in virtual time. A simulation, and it says so: nothing here touches a real one."""
