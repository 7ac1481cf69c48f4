import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import Foundation
import Testing

@Entity(userInfo: ["uniquenessAttributes": "id"])
final class Chore: ManagedObject {
  var id: Int64
  var title: String
  var room: String?
}

struct MergeChores: EntityAction {
  typealias ManagedObjectType = Chore
  let page: [MergeRecord]

  func execute(context: ActionContext) throws {
    guard let model = context.persistentStoreCoordinator?.managedObjectModel else { return }
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 0.5, pendingEdits: .conflict)
    try context.merge(records: page, for: model.entity(for: Chore.self), options: options)
  }
}

/// The code of the article about conflicts.
@Suite("The guide to conflicts")
struct ConflictsGuideTests {
  @Test func `the article about conflicts shows code that runs`() async throws {
    let model = try ManagedObjectModel(Chore.self, name: "Chores").addingOutbox()
    let connect = GenericConnect<ContextStrategy.Mixed>(name: "Chores", managedObjectModel: model)
    let outbox = try Outbox(connect, forwarding: Chore.self)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    try await connect.execute(MergeChores(page: [MergeRecord(["id": 1, "title": "Sweep"])])).value

    let context = connect.newBackgroundContext()
    try await context.perform { context in
      try context.fetch(FetchRequest(Chore.self)).first?.title = "Sweep twice"
      try context.save()
    }
    let page = [MergeRecord(["id": 1, "title": "Mop", "room": "Kitchen"])]
    try await connect.execute(MergeChores(page: page)).value

    for conflict in try await outbox.conflicts() {
      for property in conflict.properties {
        print(property.name, property.local ?? .null, property.server ?? .null)
      }
    }

    let conflict = try #require(try await outbox.conflicts().first)
    try await outbox.resolve(conflict.id, keeping: .values(["title": "Sweep and mop"]))

    for try await count in outbox.conflictCounts() {
      print("\(count) conflicts")
      if count == 0 { break }
    }
    let chores = try await context.perform { context in
      try context.fetch(FetchRequest(Chore.self)).map { [$0.title, $0.room ?? ""] }
    }
    #expect(chores == [["Sweep and mop", "Kitchen"]])
    #expect(try await outbox.counts().pending == 2)
    try await connect.stop()
  }
}
