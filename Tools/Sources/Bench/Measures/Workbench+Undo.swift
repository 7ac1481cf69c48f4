import Coherence
import Foundation

extension Workbench {
  /// The undo of 10,000 changed objects beside the change itself, and the cost of the record of a change.
  func undoMeasure() -> Measure {
    let (plain, recorded) = ("change, no history", "change, recorded")
    let (undo, redo) = ("undo", "redo")
    return Measure(
      name: "undo", title: "One attribute of 10,000 objects is changed, undone and changed again", items: Self.undone,
      item: "object",
      sides: [
        Side(name: recorded, role: .ours) { try self.undoTimes().change },
        Side(name: plain, role: .ours) { try self.undoTimes(isRecorded: false).change },
        Side(name: undo, role: .ours) { try self.undoTimes().undo },
        Side(name: redo, role: .ours) { try self.undoTimes().redo },
      ],
      goals: [.between(undo, and: recorded, atMost: 1), .between(redo, and: recorded, atMost: 1)])
  }

  private static let undone = 10_000

  private func undoTimes(isRecorded: Bool = true) throws -> (change: Sample, undo: Sample, redo: Sample) {
    let library = try objectLibrary()
    let ids = Array(library.ids.prefix(Self.undone))
    return try scratch.with(copyOf: library.file) { file in
      let store = try ObjectStore(file: file)
      let context = store.makeContext()
      let history = UndoHistory()
      let chosen = try context.performAndWait {
        if isRecorded { context.undoHistory = history }
        return try context.people(with: ids)
      }
      let change = context.performAndWait { Stopwatch.seconds { for person in chosen { person.age += 1 } } }
      let undo = try context.performAndWait { try Stopwatch.seconds { if isRecorded { try history.undo() } } }
      if isRecorded, context.performAndWait({ context.hasChanges }) {
        throw BenchError("An undo of all changes left changes.")
      }
      let redo = try context.performAndWait { try Stopwatch.seconds { if isRecorded { try history.redo() } } }
      try store.close()
      return (Sample(amount: change), Sample(amount: undo), Sample(amount: redo))
    }
  }
}
