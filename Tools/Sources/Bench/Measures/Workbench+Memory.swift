import CBench
import Coherence
import Foundation

extension Workbench {
  /// The memory of a fetched clean object, with its row, its entry in the context and its texts, beside a plain
  /// structure with its texts. The allocator counts the difference before and after a fetch. An earlier fetch of the
  /// connection has filled its caches.
  func memoryMeasure() -> Measure {
    Measure(
      name: "memory", title: "Memory of a fetched clean object", unit: .bytes, items: people.count, item: "object",
      sides: [
        Side(name: "Swift structure", role: .raw, run: structureMemory),
        Side(name: "Coherence", role: .ours, run: objectMemory),
      ],
      goals: [.ratio(to: .raw, atMost: 2.5)])
  }

  private func structureMemory() throws -> Sample {
    let connection = try RawSQLite(path: rawFile().path)
    _ = try connection.fetchAll()
    let before = benchAllocatedBytes()
    // The copy of an array has no unused capacity, unlike an array after many appends.
    let people = try connection.fetchAll().map { $0 }
    let after = benchAllocatedBytes()
    return Sample(amount: Double(after) - Double(before), checksum: people.checksum)
  }

  private func objectMemory() throws -> Sample {
    let store = try ObjectStore(file: objectLibrary().file)
    _ = try store.readBack(closing: false)
    let before = benchAllocatedBytes()
    let context = store.makeContext()
    let sample = try context.performAndWait {
      let people = try context.fetchPeople()
      let after = benchAllocatedBytes()
      return Sample(amount: Double(after) - Double(before), checksum: people.checksum)
    }
    try store.close()
    return sample
  }
}
