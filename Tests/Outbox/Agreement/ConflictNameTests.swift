import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Conflicts over properties with line ends and backslashes in their names.
@Suite("Names of properties in conflict", .timeLimit(.minutes(15)))
struct ConflictNameTests {
  @Test(arguments: Backend.available)
  func `a conflict over properties with line ends in their names has each name`(backend: Backend) async throws {
    let names = ["first\nline", "first\\nline", "title"]
    let model = try ManagedObjectModel {
      Entity("Task", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64, default: Int64(0))
        Attribute("first\nline", .string, default: "")
        Attribute("first\\nline", .string, default: "")
        Attribute("title", .string, default: "")
      }
    }
    let directory = TemporaryDirectory()
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Tasks", managedObjectModel: try model.addingOutbox(), storeLocation: directory.url)
    try connect.attachPersistentStore(for: backend.newConfiguration())
    let outbox = try Outbox(connect, entities: ["Task"])
    try await connect.start()
    func merge(_ text: String) throws {
      var values: [String: any AttributeConvertible] = ["id": 1]
      for name in names { values[name] = text }
      try connect.newActionContext().merge(
        records: [MergeRecord(values)], for: connect.managedObjectModel.entity(named: "Task"),
        options: MergeOptions(pendingEdits: .conflict))
    }
    try merge("old")
    let context = connect.newBackgroundContext()
    try context.performAndWait {
      for task in try context.fetch(FetchRequest<ManagedObject>(entityName: "Task")) {
        for name in names { try task.setValue("edited", for: name) }
      }
      try context.save()
    }
    try merge("new")
    let conflict = try #require(try await outbox.conflicts().first)
    #expect(conflict.properties.map(\.name).sorted() == names.sorted())
    #expect(conflict.properties.allSatisfy { $0.local == .string("edited") && $0.server == .string("new") })
    withExtendedLifetime(directory) {}
  }

  @Test func `the text of names has each name, and usual names without a change`() {
    #expect(OutboxConflictRecord.text(ofNames: ["title", "note"]) == "note\ntitle")
    let sets: [Set<String>] = [
      [], ["title"], ["a\nb", "a", "b"], ["a\r\n", "\n"], ["\\", "\\n", "n\\", "\\\n"], ["a\r", "b"],
    ]
    for names in sets {
      #expect(OutboxConflictRecord.names(inText: OutboxConflictRecord.text(ofNames: names)) == names)
    }
  }
}
