package lakehouse.tests

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** The local file system of Hadoop, which without its native library starts a `chmod` for each file that it makes. */
class LocalDisk extends LocalFileSystem(new RawDisk)

private class RawDisk extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val withoutSticky = new FsPermission((permission.toShort & 511).toShort)
    Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(withoutSticky.toString))
  }
}
