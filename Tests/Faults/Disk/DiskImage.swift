@testable import CoherenceConformance
import Foundation

/// The files on a disk after a power failure.
struct DiskImage {
  /// The state of writes without a sync after the failure.
  enum Loss: CaseIterable {
    /// All writes are lost.
    case everything
    /// Some writes are lost, in any order, and some are torn after their first bytes.
    case something
    /// No write is lost, because only the process has ended.
    case nothing
  }

  private(set) var files: [String: [UInt8]] = [:]

  /// Makes the image of a disk after the first entries of its diary.
  init(of disk: Disk, after entry: Int, losing loss: Loss, _ random: inout SplitMix64) {
    var pending: [String: [Disk.Change]] = [:]
    /// The existing files, and the files among them whose names are not durable.
    var (known, fresh): (Set<String>, Set<String>) = ([], [])
    for (file, change) in disk.diary(before: entry) {
      switch change {
      case .sync:
        for change in pending.removeValue(forKey: file) ?? [] { apply(change, to: file) }
        // With the first sync of a file, SQLite makes its directory durable, and deletes with it.
        if fresh.remove(file) != nil { applyDeletes(of: &pending) }
      case .delete: known.remove(file)
      case .write, .truncate: if known.insert(file).inserted { fresh.insert(file) }
      }
      if case .sync = change { continue }
      pending[file, default: []].append(change)
    }
    for (file, changes) in pending.sorted(by: { $0.key < $1.key }) {
      for change in changes {
        guard let kept = Self.keep(change, losing: loss, &random) else { continue }
        apply(kept, to: file)
      }
    }
  }

  private mutating func applyDeletes(of pending: inout [String: [Disk.Change]]) {
    for (file, changes) in pending {
      guard let last = changes.lastIndex(where: { if case .delete = $0 { true } else { false } }) else { continue }
      files[file] = nil
      pending[file] = Array(changes[(last + 1)...])
    }
  }

  private static func keep(_ change: Disk.Change, losing loss: Loss, _ random: inout SplitMix64) -> Disk.Change? {
    switch loss {
    case .everything: return nil
    case .nothing: return change
    case .something:
      guard random.chance(60) else { return nil }
      guard case .write(let offset, let bytes) = change, random.chance(20) else { return change }
      // A disk writes whole sectors. The last sector is either completely written or unchanged.
      let sectors = random.number(0...(bytes.count / 512))
      return .write(offset: offset, bytes: Array(bytes.prefix(sectors * 512)))
    }
  }

  private mutating func apply(_ change: Disk.Change, to file: String) {
    switch change {
    case .write(let offset, let bytes):
      var content = files[file] ?? []
      if content.count < offset + bytes.count {
        content.append(contentsOf: [UInt8](repeating: 0, count: offset + bytes.count - content.count))
      }
      content.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
      files[file] = content
    case .truncate(let size):
      guard let content = files[file] else { return }
      files[file] =
        content.count >= size
        ? Array(content.prefix(size)) : content + [UInt8](repeating: 0, count: size - content.count)
    case .delete: files[file] = nil
    case .sync: break
    }
  }

  /// Writes the image into a directory.
  func write(to directory: TemporaryDirectory) throws {
    for (file, content) in files { try Data(content).write(to: directory.url.appendingPathComponent(file)) }
  }
}
