package lakehouse.faults

import java.io.{IOException, OutputStream}
import java.nio.file.{Files, Paths}
import java.util

import org.apache.hadoop.fs._
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

import lakehouse.tests.LocalDisk

/** Records the mutating operations below a folder, and stops the storage there at one of them.
  *
  * An operation is known by what it does, where, and which of the same it is: "rename /log/.hoodie/<instant>.commit #1".
  * Instants, file ids and numbers of tasks are others in every run and not part of that. Nor is a heartbeat that a timer
  * renews: when it comes depends on the machine, and it changes nothing but the file's time. It fails like all others.
  */
object Faults {
  private val unlike = Seq(
    "(attempt|task)_\\d+_\\d+_m_\\d+(_\\d+)?" -> "<$1>",
    "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}" -> "<id>",
    "\\d{17}" -> "<instant>",
    "_\\d+-\\d+-\\d+" -> "_<task>")
  private val heartbeat = ".*/\\.hoodie/\\.heartbeat/\\d{17}"
  private val names = new util.ArrayList[String]()
  private val seen = new util.HashMap[String, Int]()
  private val depth = ThreadLocal.withInitial[Integer](() => 0)
  private var folder = ""
  private var stopAt = ""
  private var isDoneAt = false
  private var stopPath = ""
  private var pauseAt = ""
  private var mark = ""
  private var isHit = false

  /** Record from now on below `below`; at the operation `at` ("": none) and after it everything fails. `isDone`: that
    * one is carried out, and only its answer is lost.
    */
  def arm(below: String, at: String, isDone: Boolean): Unit = synchronized {
    disarm(); names.clear(); seen.clear(); isHit = false
    folder = below; stopAt = at; isDoneAt = isDone
  }

  /** The same for the first operation whose path matches `pattern`, before it is carried out. */
  def armPath(below: String, pattern: String): Unit = synchronized { arm(below, "", false); stopPath = pattern }

  /** Record from now on below `below`; before the operation `at` write the file `sign`, and wait until it is gone. */
  def armPause(below: String, at: String, sign: String): Unit = synchronized {
    arm(below, "", false); pauseAt = at; mark = sign
  }

  /** Everything works again, and nothing is recorded. */
  def disarm(): Unit = synchronized { folder = ""; stopAt = ""; stopPath = ""; pauseAt = "" }

  /** What was recorded, one a line. */
  def listing: String = synchronized { String.join("\n", names) }

  /** True when the storage came to the operation at which it stops. */
  def isReached: Boolean = synchronized { isHit }

  def isStopped(path: Path): Boolean = synchronized { isHit && isBelow(path.toUri.getPath) }

  private def isBelow(path: String): Boolean = folder.nonEmpty && (path == folder || path.startsWith(folder + "/"))

  /** An operation is about to begin. Below 0: it must not; 0: it may; above 0: it may, and its answer is lost.
    *
    * A path that is empty is of something that is no file, and belongs to whatever is armed.
    */
  def enter(name: String, path: String): Int = {
    val (answer, isPause) = synchronized {
      if (folder.isEmpty || (path.nonEmpty && !isBelow(path))) return 0
      val plain = s"$name ${path.stripPrefix(folder)}".trim
      val isRenewed = path.matches(heartbeat) && name != "delete" && seen.put(plain, 1) > 0
      if (isRenewed) return if (isHit) -1 else 0
      val kind = unlike.foldLeft(plain) { case (text, (pattern, word)) => text.replaceAll(pattern, word) }
      val number = seen.merge(kind, 1, (one: Int, other: Int) => one + other)
      val key = s"$kind #$number"
      names.add(key)
      val wasHit = isHit
      val isIt = !wasHit && (key == stopAt || (stopPath.nonEmpty && path.matches(stopPath)))
      isHit = wasHit || isIt
      (if (wasHit || (isIt && !isDoneAt)) -1 else if (isIt) 1 else 0, key == pauseAt)
    }
    if (isPause) {
      Files.createFile(Paths.get(mark))
      while (Files.exists(Paths.get(mark))) Thread.sleep(20)
    }
    answer
  }

  /** Carry out one operation, unless the storage has stopped. What an operation itself calls is not recorded again. */
  def mutate[T](name: String, path: Path)(operation: => T): T = {
    if (depth.get > 0) return operation
    depth.set(depth.get + 1)
    try {
      val allowed = enter(name, path.toUri.getPath)
      if (allowed < 0) throw new IOException(s"storage stopped before $name")
      val answer = operation
      if (allowed > 0) throw new IOException(s"storage stopped after $name")
      answer
    } finally depth.set(depth.get - 1)
  }
}

/** The local file system of the tests (tests/run/LocalDisk.scala), with faults. */
class FaultyFileSystem extends LocalDisk {
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
