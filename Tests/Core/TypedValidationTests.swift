import CoherenceCore
import Testing

/// Typed validation rules for single properties.
@Suite struct TypedValidationTests {
  struct Refusal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  struct Size: CompositeValue {
    var width: Double

    struct Parts: CompositeParts {
      static let table = Parts()
      let width = PartKey<Double>("width")
    }
    static var compositeParts: [Attribute] { Attribute.parts("width", Double.self) }
    init(width: Double) { self.width = width }
    init(reading parts: inout CompositeReader) { width = parts.read() }
    func write(to parts: inout CompositeWriter) { parts.write(width) }
  }

  class Parcel: ManagedObject, DeclaredEntity, TypedPropertyValidating {
    struct Properties: EntityProperties {
      static let table = Properties()
      let weight = AttributeKey<Int>("weight")
      let note = AttributeKey<String?>("note")
      let size = CompositeKey<Size>("size")
      let part = ToOneKey<Parcel>("part")
    }
    class var entityName: String { "Parcel" }
    class var entityDeclaration: Entity {
      Entity("Parcel", class: Parcel.self) {
        Attribute("weight", .int64)
        Attribute("note", .string, optional: true)
        CompositeAttribute("size", of: Size.self)
        Relationship("part", toOne: "Parcel", inverse: nil)
      }
    }

    func validate(_ property: ValidatedProperty<Properties>) throws {
      try property.check(\.weight) { if $0 > 20 { throw Refusal("is too heavy") } }
      try property.check(\.note) { if $0 == nil { throw Refusal("is empty") } }
      try property.check(\.size, \.width) { if $0 > 3 { throw Refusal("is too wide") } }
      try property.check(\.part) { if $0 == objectID { throw Refusal("is the parcel itself") } }
    }
  }

  final class Letter: Parcel {
    struct Properties: EntityProperties {
      static let table = Properties()
      let stamps = AttributeKey<Int>("stamps")
    }
    override class var entityName: String { "Letter" }
    override class var entityDeclaration: Entity {
      Entity("Letter", class: Letter.self, parent: "Parcel") { Attribute("stamps", .int64) }
    }

    override func validate(_ property: ValidatedProperty<Parcel.Properties>) throws {
      try super.validate(property)
      try property.check(Properties.table.stamps) { if $0 == 0 { throw Refusal("is missing") } }
    }
  }

  private let context: ManagedObjectContext

  init() throws {
    context = ManagedObjectContext(
      coordinator: try PersistentStoreCoordinator(inMemory: ManagedObjectModel(Parcel.self, Letter.self)))
  }

  /// The failures of a save, sorted: "property: reason".
  private func failures() -> [String] {
    do {
      try context.save()
      return []
    } catch {
      return ((error as? CoherenceError)?.failures ?? []).map { "\($0.propertyName): \($0.reason)" }.sorted()
    }
  }

  @Test func `rules refuse values of attributes, parts and targets with the names of their properties`() throws {
    try context.performAndWait {
      let parcel = try Parcel(context: context)
      let key = Parcel.Properties.table
      parcel[key.weight] = 21
      parcel[key.size] = Size(width: 4)
      parcel[key.part] = parcel
      #expect(
        failures() == [
          "note: is empty", "part: is the parcel itself", "size.width: is too wide", "weight: is too heavy",
        ])
      parcel[key.weight] = 20
      parcel[key.note] = "fragile"
      parcel[key.size] = Size(width: 3)
      parcel[key.part] = nil
      #expect(failures() == [])
      parcel[key.weight] = 30
      #expect(failures() == ["weight: is too heavy"])
    }
  }

  /// An object whose hook throws an error with a text for logs.
  final class Label: ManagedObject {
    struct Unreadable: LoggableError { var logDescription: String { "is unreadable" } }

    override func validateForInsert() throws { throw Unreadable() }
  }

  @Test func `the description of a failed save has the text of a hook's error only if logs may contain it`() throws {
    try context.performAndWait {
      let parcel = try Parcel(context: context)
      parcel[Parcel.Properties.table.weight] = 21
      let error = #expect(throws: CoherenceError.self) { try context.save() }
      let text = error?.description ?? ""
      #expect(text.contains("Parcel.weight: ") && text.contains("Refusal") && !text.contains("heavy"), "\(text)")
    }
    let model = try ManagedObjectModel {
      Entity("Label", class: Label.self) { Attribute("text", .string, default: "") }
    }
    let other = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    try other.performAndWait {
      _ = try other.insertNewObject(forEntityName: "Label")
      let error = #expect(throws: CoherenceError.self) { try other.save() }
      #expect(error?.description.contains("Label: is unreadable.") == true)
    }
  }

  @Test func `a subclass adds rules for its own properties to the inherited rules`() throws {
    try context.performAndWait {
      let letter = try Letter(context: context)
      letter[Letter.Properties.table.stamps] = 0
      letter[Parcel.Properties.table.weight] = 1
      letter[Parcel.Properties.table.size] = Size(width: 1)
      #expect(failures() == ["note: is empty", "stamps: is missing"])
    }
  }

  @Test func `a rule for a required attribute without a value leaves the failure to the model`() throws {
    try context.performAndWait {
      let parcel = try Parcel(context: context)
      parcel[Parcel.Properties.table.note] = "fragile"
      parcel[Parcel.Properties.table.size] = Size(width: 1)
      let failures = failures()
      #expect(failures.count == 1 && failures[0].hasPrefix("weight: "))
      #expect(!failures[0].contains("heavy"))
    }
  }
}

extension TypedValidationTests.Letter: DeclaredSubentity {}
