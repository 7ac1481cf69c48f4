// A program without a type of its own: everything stands at the top level.
import Coherence
import CoherenceModelMacros

@Entity final class Entry: ManagedObject {
  var text: String
}

let model = try ManagedObjectModel(Entry.self)
let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Journal", managedObjectModel: model)
try container.attachPersistentStore()

// Each is awaited, so that the next line sees what it did.
try await container.performBackgroundTask { context in
  try Entry(context: context).text = "statements"
  try context.save()
}
try await container.performBackgroundTask { try $0.insertAndSave("one expression") }
let count = try await container.performBackgroundTask { try $0.count(for: FetchRequest(Entry.self)) }
print(count)

// This task is started without being awaited. Its completion reports the end.
let failure = await withCheckedContinuation { done in
  container.performBackgroundTask {
    try $0.insertAndSave("with a completion")
  } completion: {
    done.resume(returning: $0)
  }
}
print(failure == nil)

let view = container.viewContext
print(try await view.perform { try view.fetch(FetchRequest(Entry.self).sort(\.text)).map(\.text) })

extension ManagedObjectContext {
  func insertAndSave(_ text: String) throws {
    try Entry(context: self).text = text
    try save()
  }
}
