"""Price search: what people search for, see and click on where prices of shops are compared."""
