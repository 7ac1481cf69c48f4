import CoherenceCore
import CoherenceMapping
import Foundation
import Testing

@Suite("Records and orders")
struct RecordBehaviourTests {
  @Test func `a record has the uid of its model, for every type of uid`() throws {
    let stack = try MappingStack(model: Parts.model())
    try stack.manager.save(entity: Part.self, models: [Parts(uid: 7)], shouldOverwrite: false)
    let parts: [Part] = try stack.manager.fetchRecords()
    #expect(parts.map(\.uid) == [7])
    try stack.manager.delete(entity: Part.self, uid: 7)
    #expect(try stack.manager.count(entity: Part.self) == 0)
  }

  @Test func `the default key of the uid is 'uid'`() {
    #expect(Part.uidKey == "uid" && GroceryRecord.uidKey == "id")
    #expect(Part.entityName == "Part")
  }

  @Test func `the default keys of the marks are their names, and the default sort order is none`() {
    #expect(Part.isUploadedKey == "isUploaded" && Part.wasDeletedKey == "wasDeleted" && Part.sort == nil)
    #expect(FruitRecord.sort == SortInfo(columns: [SortColumn(key: "name", ascending: true)]))
  }

  @Test func `the marks of a new record are false and can be set`() throws {
    try MappingStack().work { context in
      let fruit = try FruitRecord(context: context)
      #expect(!fruit.isUploaded && !fruit.wasDeleted)
      fruit.isUploaded = true
      fruit.wasDeleted = true
      #expect(fruit.isUploaded && fruit.wasDeleted)
    }
  }

  @Test func `a sort column is ascending by default`() {
    #expect(SortColumn(key: "name").ascending && !SortColumn(key: "name", ascending: false).ascending)
    let order = SortInfo(columns: [SortColumn(key: "name"), SortColumn(key: "points", ascending: false)])
    #expect(order.descriptors == [SortKey("name"), SortKey("points", .reverse)])
  }
}

private struct Parts: CoreModel {
  let uid: Int

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Part", class: Part.self) {
        Attribute("uid", .int64)
        Attribute("isUploaded", .bool, default: false)
        Attribute("wasDeleted", .bool, default: false)
      }
    }
  }
}

private final class Part: ManagedObject, RecordFromModel, SyncRecord {
  static let uidValue = AttributeKey<Int>("uid")
  static var entityName: String { "Part" }
  typealias ModelType = Parts
  var uid: Int { self[Self.uidValue] }
  var isUploaded: Bool {
    get { self[AttributeKey<Bool>("isUploaded")] }
    set { self[AttributeKey<Bool>("isUploaded")] = newValue }
  }
  var wasDeleted: Bool {
    get { self[AttributeKey<Bool>("wasDeleted")] }
    set { self[AttributeKey<Bool>("wasDeleted")] = newValue }
  }
  func fromModel(_ model: Parts) { self[Self.uidValue] = model.uid }
}
