// A program of plain statements: nothing is awaited, and the main queue is served only where a run loop runs.
import Coherence
import CoherenceModelMacros
import Foundation

@Entity final class Note: ManagedObject {
  var text: String
}

let model = try ManagedObjectModel(Note.self)
let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Notes", managedObjectModel: model)
try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
let view = container.viewContext

/// Saves a note on another thread, while the main thread waits.
func addOnThread(_ text: String) {
  let done = DispatchSemaphore(value: 0)
  Thread.detachNewThread { [container] in
    let context = container.newBackgroundContext()
    try? context.performAndWait {
      try Note(context: context).text = text
      try context.save()
    }
    done.signal()
  }
  done.wait()
}

func texts() throws -> [String] { try view.fetch(FetchRequest(Note.self).sort(\.text)).map(\.text) }

// Without turns, each operation and each block sees the saves of others.
addOnThread("first")
print(try texts())
addOnThread("second")
print(try texts())
try view.performAndWait {
  let count = try view.count(for: FetchRequest(Note.self))
  addOnThread("third")
  print(count, try texts().count)
}
print(try texts())

// In the callbacks of a run loop, each callback is a turn.
let timer = Timer(timeInterval: 0.001, repeats: false) { _ in
  MainActor.assumeIsolated {
    do {
      let notes = try view.fetch(FetchRequest(Note.self).sort(\.text))
      addOnThread("fourth")
      print(notes.count, try view.count(for: FetchRequest(Note.self)))
      // A run loop inside of the callback serves the main queue, which ends the turn.
      RunLoop.main.run(until: .now + 0.01)
      print(notes.count, try view.count(for: FetchRequest(Note.self)))
    } catch {
      print(error)
    }
  }
}
RunLoop.main.add(timer, forMode: .default)
RunLoop.main.run(until: .now + 0.1)
addOnThread("fifth")
print(try texts().count)
addOnThread("sixth")
print(try texts().count)
