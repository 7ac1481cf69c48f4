import CoherenceInMemory
public import CoherenceModelMacros
import Testing

private func firstNumber() -> Int { 4 }

/// A public structure whose memberwise initialiser is internal.
@Composite public struct Extent: Sendable, Equatable {
  var width = 0
}

/// A public class whose defaults only this file and this module see.
@Entity public final class Shelf: ManagedObject {
  static let limit = 7
  public var number: Int = firstNumber()
  public var places: Int = Self.limit
  public var label: String? = nil
  @Attribute(.composite) public var extent = Extent(width: 2)
}

/// The visibility of the members that the macros write.
@Suite struct VisibilityTests {
  @Test func `a snapshot of a public class has the defaults that other modules do not see`() throws {
    let values = Shelf.Snapshot()
    #expect(values.number == 4 && values.places == 7 && values.label == nil && values.extent == Extent(width: 2))
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(Shelf.self))
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      var inserted = try Shelf(context: context).snapshot()
      inserted.objectID = nil
      #expect(inserted == values)
    }
  }

  @Test func `subclasses in other modules override the generated members of an open class`() {
    let text = expansion(
      of: "@Entity open class Release: ManagedObject { public var name = \"\"; public var since = Date() }")
    #expect(text.contains("open override func initializeDefaults()"))
    for member in ["entityName", "entityDeclaration", "propertyNames"] {
      #expect(text.contains("open class var \(member)"))
    }
    #expect(
      expansion(of: "@Subentity open class Single: Release { var since = Date() }").contains("open func snapshot()"))
  }

  @Test func `names of members that snapshots add are diagnosed`() {
    let advice =
      "choose another name for the property, and keep the stored values with 'formerNames' if the model had "
      + "the property before."
    #expect(
      complaints(of: "@Subentity class Single: Release { var inherited: Int? }") == [
        "1 | 'inherited' is a member of every snapshot of a subentity; \(advice)"
      ])
    #expect(
      complaints(of: "@Subentity class Single: Release { var snapshot: Int? }") == [
        "1 | 'snapshot' is a member of every managed object; \(advice)"
      ])
    #expect(complaints(of: "@Entity class Release: ManagedObject { var inherited: Int? }") == [])
  }
}
