package lakehouse.faults

import java.io.{IOException, OutputStream}
import java.nio.file.{Files, Paths}
import java.util
import java.util.concurrent.ConcurrentLinkedQueue

import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

/** Counts the mutating operations below a folder, and stops the storage there at one of them. */
object Faults {
  private val names = new ConcurrentLinkedQueue[String]()
  private val depth = ThreadLocal.withInitial[Integer](() => 0)
  private var folder = ""
  private var count = 0
  private var stopAt = 0
  private var isDoneAt = false
  private var stopName = ""
  private var pauseAt = 0
  private var mark = ""

  /** Count from now on below `below`; at operation `at` (0: none) and after it everything fails. `isDone`: that one is
    * carried out, and only its answer is lost. */
  def arm(below: String, at: Int, isDone: Boolean): Unit = synchronized {
    folder = below; count = 0; stopAt = at; isDoneAt = isDone; names.clear()
  }

  /** The same for the first operation whose path matches `pattern`, before it is carried out. */
  def armName(below: String, pattern: String): Unit = synchronized { arm(below, 0, false); stopName = pattern }

  /** Count from now on below `below`; before operation `at` write the file `sign`, and wait until it is gone. */
  def armPause(below: String, at: Int, sign: String): Unit = synchronized {
    folder = below; count = 0; pauseAt = at; mark = sign; names.clear()
  }

  /** Everything works again, and nothing is counted. */
  def disarm(): Unit = synchronized { folder = ""; stopAt = 0; stopName = ""; pauseAt = 0 }

  /** How many operations were counted. */
  def operations: Int = synchronized { count }

  /** What they were, one a line. */
  def listing: String = String.join("\n", names)

  def isStopped(path: Path): Boolean = synchronized { isBelow(path) && stopAt > 0 && count >= stopAt }

  private def isBelow(path: Path): Boolean = folder.nonEmpty && path.toUri.getPath.startsWith(folder)

  /** Carry out one operation, unless the storage has stopped. What an operation itself calls is not counted again. */
  def mutate[T](name: String, path: Path)(operation: => T): T = {
    if (depth.get > 0 || !isBelow(path)) return operation
    val number = synchronized {
      count += 1
      if (stopAt == 0 && stopName.nonEmpty && path.toUri.getPath.matches(stopName)) stopAt = count
      count
    }
    names.add(s"$number $name ${path.toUri.getPath.stripPrefix(folder)}")
    val (at, isDone, isPause) = synchronized { (stopAt, isDoneAt, number == pauseAt) }
    if (isPause) {
      Files.createFile(Paths.get(mark))
      while (Files.exists(Paths.get(mark))) Thread.sleep(20)
    }
    depth.set(depth.get + 1)
    try {
      if (at > 0 && (number > at || (number == at && !isDone))) throw new IOException(s"storage stopped before $name")
      val answer = operation
      if (at > 0 && number == at) throw new IOException(s"storage stopped after $name")
      answer
    } finally depth.set(depth.get - 1)
  }
}

/** The local file system of Hadoop, with faults. */
class FaultyFileSystem extends LocalFileSystem {
  private def watched(path: Path, opened: => FSDataOutputStream, name: String): FSDataOutputStream = {
    val out = Faults.mutate(name, path)(opened)
    if (out.getWrappedStream.isInstanceOf[FaultyStream]) out
    else new FSDataOutputStream(new FaultyStream(out, path), null)
  }

  override def create(
      f: Path, permission: FsPermission, overwrite: Boolean, bufferSize: Int, replication: Short, blockSize: Long,
      progress: Progressable): FSDataOutputStream =
    watched(f, super.create(f, permission, overwrite, bufferSize, replication, blockSize, progress), "create")

  override def create(
      f: Path, permission: FsPermission, flags: util.EnumSet[CreateFlag], bufferSize: Int, replication: Short,
      blockSize: Long, progress: Progressable, checksum: Options.ChecksumOpt): FSDataOutputStream =
    watched(f, super.create(f, permission, flags, bufferSize, replication, blockSize, progress, checksum), "create")

  override def createNonRecursive(
      f: Path, permission: FsPermission, flags: util.EnumSet[CreateFlag], bufferSize: Int, replication: Short,
      blockSize: Long, progress: Progressable): FSDataOutputStream =
    watched(f, super.createNonRecursive(f, permission, flags, bufferSize, replication, blockSize, progress), "create")

  override def append(f: Path, bufferSize: Int, progress: Progressable): FSDataOutputStream =
    watched(f, super.append(f, bufferSize, progress), "append")

  override def rename(src: Path, dst: Path): Boolean = Faults.mutate("rename", dst)(super.rename(src, dst))

  override def delete(f: Path, recursive: Boolean): Boolean = Faults.mutate("delete", f)(super.delete(f, recursive))

  override def mkdirs(f: Path): Boolean = Faults.mutate("mkdirs", f)(super.mkdirs(f))

  override def mkdirs(f: Path, permission: FsPermission): Boolean =
    Faults.mutate("mkdirs", f)(super.mkdirs(f, permission))
}

/** Fails once the storage has stopped; ending a file is an operation of its own. */
private class FaultyStream(out: FSDataOutputStream, path: Path) extends OutputStream with Syncable {
  private var isOpen = true

  private def check(): Unit = if (Faults.isStopped(path)) throw new IOException("storage stopped while writing")

  override def write(byte: Int): Unit = { check(); out.write(byte) }
  override def write(bytes: Array[Byte], from: Int, length: Int): Unit = { check(); out.write(bytes, from, length) }
  override def flush(): Unit = { check(); out.flush() }
  override def hflush(): Unit = { check(); out.hflush() }
  override def hsync(): Unit = { check(); out.hsync() }

  override def close(): Unit = if (isOpen) {
    isOpen = false
    try Faults.mutate("close", path)(out.close())
    finally out.close()
  }
}
