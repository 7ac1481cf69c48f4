import CoherenceCore
import CoherenceMapping
import Testing
import TestSupport

/// Overwriting saves of models whose records are deleted with other records by a delete rule.
@Suite("Saves of models beside cascades")
struct CascadeSaveTests {
  private static func boxes() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("GroceryRecord", class: GroceryRecord.self) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("points", .int64, default: 0)
        Attribute("details", .string, optional: true)
        Relationship("box", toOne: "GroceryRecord", inverse: "contents")
        Relationship("contents", toMany: "GroceryRecord", inverse: "box", deleteRule: .cascade)
      }
    }
  }

  private static let mapping = Mapping<GroceryProduct>("GroceryRecord", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
    Field("points", \.points)
    Field("details", \.details)
  }

  @Test(arguments: Backend.available, [true, false])
  func `a record with a model stays when an overwriting save deletes the record that contains it`(
    backend: Backend, byMapping: Bool
  ) throws {
    let stack = try MappingStack(backend, model: try Self.boxes())
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    try stack.work { context in
      let records = try context.fetch(FetchRequest(GroceryRecord.self).sort("id"))
      for record in records.dropFirst() { try record.setObject(records[0], for: "box") }
      try context.save()
    }
    let kept = [GroceryProduct.blackberry, GroceryProduct(id: "3", name: "Renamed")]
    let result =
      try byMapping
      ? stack.manager.save(Self.mapping, models: kept, shouldOverwrite: true)
      : stack.manager.save(entity: GroceryRecord.self, models: kept, shouldOverwrite: true)
    #expect(result.deleted == 2 && result.inserted == 0)
    #expect(try stack.products() == kept)
  }
}
