"""Checkpoints written by hand, file by file, as Spark 4.3 writes them."""

import io
import json
import shutil
import zipfile

from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


class Checkpoint:
    """A folder that is filled file by file."""

    def __init__(self, folder, provider=ROCKSDB):
        self.folder, self.provider = folder, provider
        self.write("metadata", '{"id":"the-query"}')
        (folder / "offsets").mkdir(parents=True, exist_ok=True)

    def write(self, path, content):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def begin(self, batch, bins, **noted):
        conf = {
            "spark.sql.shuffle.partitions": str(bins),
            "spark.sql.streaming.stateStore.providerClass": self.provider,
            **{f"spark.sql.streaming.{name.replace('_', '.')}": value for name, value in noted.items()},
        }
        self.write(f"offsets/{batch}", f'v1\n{json.dumps({"batchWatermarkMs": 0, "conf": conf})}\n{{"number":7}}')

    def commit(self, batch, bins, **noted):
        self.begin(batch, bins, **noted)
        self.write(f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')

    def operator(self, number, name, stores, bins):
        told = {
            "operatorInfo": {"operatorId": number, "operatorName": name},
            "stateStoreInfo": [{"storeName": one, "numColsPrefixKey": 0, "numPartitions": bins} for one in stores],
        }
        self.write(f"state/{number}/_metadata/metadata", f"v1\n{json.dumps(told)}")

    def read(self):
        return read_state(LocalFolders(str(self.folder)))


def snapshot(*sizes):
    """A snapshot of RocksDB that needs files of these sizes; and how large it is itself."""
    listed = {"sstFiles": [{"localFileName": "a", "dfsSstFileName": "b", "sizeBytes": one} for one in sizes]}
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("metadata", f"v1\n{json.dumps(listed | {'numKeys': 3, 'numInternalKeys': 0})}")
    return held.getvalue()


def broken(snapshot):
    """The same archive with a compressed stream that cannot be read any more."""
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(snapshot)) as whole, zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("metadata", whole.read("metadata") * 20)
    damaged = bytearray(held.getvalue())
    start = damaged.index(b"metadata") + len("metadata")
    damaged[start : start + 12] = b"\xff" * 12
    return bytes(damaged)


def rewritable(checkpoint, bins=4):
    checkpoint.commit(6, bins=bins)
    checkpoint.operator(0, "stateStoreSave", ["default"], bins=bins)
    for number in range(bins):
        checkpoint.write(f"state/0/{number}/7.changelog", b"x")
    return checkpoint


def files(checkpoint):
    return {
        path.relative_to(checkpoint.folder): path.read_bytes()
        for path in checkpoint.folder.rglob("*")
        if path.is_file()
    }


def rewritten(checkpoint):
    """From 2 bins into 3, in batch 7; the files as they were before."""
    rewritable(checkpoint, bins=2)
    checkpoint.write("state/0/0/7.zip", snapshot())
    before = files(checkpoint)
    checkpoint.commit(7, bins=3)
    for number in range(3):
        checkpoint.write(f"state/0/{number}/8.zip", snapshot(100))
        checkpoint.write(f"state/0/{number}/.8.zip.crc", b"crc")
        checkpoint.write(f"state/0/{number}/SSTs/b", b"x" * 100)
    for log in ("offsets", "commits"):
        checkpoint.write(f"{log}/.7.crc", b"crc")
    (checkpoint.folder / "state/0/_metadata/v2").mkdir()
    shutil.copy(checkpoint.folder / "state/0/_metadata/metadata", checkpoint.folder / "state/0/_metadata/v2/7")
    return before
