import Foundation
import GRDBSQLite
import Synchronization

/// The layer between SQLite and its own layer for files. Databases outside the directory of a ``Disk`` pass through it
/// unchanged.
enum DiskVFS {
  private struct Reference: Sendable { weak var disk: Disk? }
  private static let disks = Mutex<[String: Reference]>([:])

  static func insert(_ disk: Disk, at directory: String) {
    _ = isInstalled
    disks.withLock { $0[directory] = Reference(disk: disk) }
  }

  static func remove(_ directory: String) { _ = disks.withLock { $0.removeValue(forKey: directory) } }

  /// The disk that a file is on, and the file's name there.
  fileprivate static func find(_ path: UnsafePointer<CChar>?) -> (disk: Disk, file: String)? {
    guard let path = path.map({ String(cString: $0) }), let slash = path.lastIndex(of: "/") else { return nil }
    let directory = String(path[..<slash])
    guard let disk = disks.withLock({ $0[directory]?.disk }) else { return nil }
    return (disk, String(path[path.index(after: slash)...]))
  }

  // The pointer is set once, and the structure that it points to does not change afterwards.
  fileprivate nonisolated(unsafe) static let base = sqlite3_vfs_find(nil)!
  // The structure is also filled before any other thread reads the pointer.
  private nonisolated(unsafe) static let layer: UnsafeMutablePointer<sqlite3_vfs> = {
    let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    layer.initialize(to: base.pointee)
    layer.pointee.pNext = nil
    layer.pointee.zName = UnsafePointer(strdup("coherence-disk"))
    layer.pointee.szOsFile = CInt(DiskFile.offset) + base.pointee.szOsFile
    layer.pointee.xOpen = { _, path, file, flags, answer in DiskFile.open(path, file!, flags, answer) }
    layer.pointee.xDelete = { _, path, syncs in
      let result = base.pointee.xDelete(base, path, syncs)
      if result == SQLITE_OK, let (disk, file) = find(path) { disk.noteDelete(of: file) }
      return result
    }
    return layer
  }()

  private static let isInstalled: Bool = sqlite3_vfs_register(layer, 1) == SQLITE_OK
}

/// A file that SQLite opened on a ``Disk``. It lies in memory that SQLite gives, with the file of the layer below after it.
private struct DiskFile {
  var head: sqlite3_file
  // Safety of `Unmanaged`: opening the file retains the place, and closing it releases the place.
  // Safety of `assumingMemoryBound`: SQLite allocates the file of the layer below behind each `DiskFile`.
  var place: Unmanaged<Place>

  final class Place {
    let disk: Disk
    let name: String
    init(disk: Disk, name: String) {
      self.disk = disk
      self.name = name
    }
  }

  static let offset = 32

  static func open(
    _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>, _ flags: CInt,
    _ answer: UnsafeMutablePointer<CInt>?
  ) -> CInt {
    let base = DiskVFS.base
    guard let (disk, name) = DiskVFS.find(path) else { return base.pointee.xOpen(base, path, file, flags, answer) }
    let result = base.pointee.xOpen(base, path, below(file), flags, answer)
    file.pointee.pMethods = nil
    guard result == SQLITE_OK else { return result }
    UnsafeMutableRawPointer(file).initializeMemory(
      as: DiskFile.self,
      to: DiskFile(head: sqlite3_file(pMethods: methods), place: .passRetained(Place(disk: disk, name: name))))
    return SQLITE_OK
  }

  /// The file of the layer below.
  static func below(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<sqlite3_file> {
    (UnsafeMutableRawPointer(file!) + offset).assumingMemoryBound(to: sqlite3_file.self)
  }

  private static func make(
    _ call: Disk.Call, _ file: UnsafeMutablePointer<sqlite3_file>?, _ change: Disk.Change?,
    _ body: (sqlite3_io_methods, UnsafeMutablePointer<sqlite3_file>) -> CInt
  ) -> CInt {
    let place = UnsafeMutableRawPointer(file!).assumingMemoryBound(to: DiskFile.self).pointee.place
    let below = below(file)
    return place._withUnsafeGuaranteedRef { place in
      place.disk.make(call, on: place.name, change) { body(below.pointee.pMethods.pointee, below) }
    }
  }

  private static func pass<T>(
    _ file: UnsafeMutablePointer<sqlite3_file>?,
    _ body: (sqlite3_io_methods, UnsafeMutablePointer<sqlite3_file>) -> T
  ) -> T {
    let below = below(file)
    return body(below.pointee.pMethods.pointee, below)
  }

  // The methods are set once and do not change afterwards.
  private nonisolated(unsafe) static let methods: UnsafePointer<sqlite3_io_methods> = {
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    methods.initialize(to: sqlite3_io_methods())
    // No memory mapping, because mapped writes would bypass this layer.
    methods.pointee.iVersion = 2
    setCalls(&methods.pointee)
    setLocks(&methods.pointee)
    return UnsafePointer(methods)
  }()

  private static func setCalls(_ methods: inout sqlite3_io_methods) {
    methods.xClose = { file in
      let result = DiskFile.pass(file) { $0.xClose($1) }
      UnsafeMutableRawPointer(file!).assumingMemoryBound(to: DiskFile.self).pointee.place.release()
      return result
    }
    methods.xRead = { file, buffer, count, offset in
      DiskFile.make(.read, file, nil) { $0.xRead($1, buffer, count, offset) }
    }
    methods.xWrite = { file, buffer, count, offset in
      let bytes = Array(UnsafeRawBufferPointer(start: buffer, count: Int(count)))
      return DiskFile.make(.write, file, .write(offset: Int(offset), bytes: bytes)) {
        $0.xWrite($1, buffer, count, offset)
      }
    }
    methods.xTruncate = { file, size in DiskFile.make(.truncate, file, .truncate(Int(size))) { $0.xTruncate($1, size) }
    }
    methods.xSync = { file, flags in DiskFile.make(.sync, file, .sync) { $0.xSync($1, flags) } }
    methods.xFileSize = { file, size in DiskFile.pass(file) { $0.xFileSize($1, size) } }
    methods.xFileControl = { file, operation, argument in
      DiskFile.pass(file) { $0.xFileControl($1, operation, argument) }
    }
    methods.xSectorSize = { file in DiskFile.pass(file) { $0.xSectorSize($1) } }
    // The simulated disk guarantees nothing about writes during a power failure.
    methods.xDeviceCharacteristics = { _ in 0 }
  }

  private static func setLocks(_ methods: inout sqlite3_io_methods) {
    methods.xLock = { file, level in DiskFile.pass(file) { $0.xLock($1, level) } }
    methods.xUnlock = { file, level in DiskFile.pass(file) { $0.xUnlock($1, level) } }
    methods.xCheckReservedLock = { file, answer in DiskFile.pass(file) { $0.xCheckReservedLock($1, answer) } }
    methods.xShmMap = { file, region, size, extends, answer in
      DiskFile.pass(file) { $0.xShmMap($1, region, size, extends, answer) }
    }
    methods.xShmLock = { file, offset, count, flags in DiskFile.pass(file) { $0.xShmLock($1, offset, count, flags) } }
    methods.xShmBarrier = { file in DiskFile.pass(file) { $0.xShmBarrier($1) } }
    methods.xShmUnmap = { file, deletes in DiskFile.pass(file) { $0.xShmUnmap($1, deletes) } }
  }
}
