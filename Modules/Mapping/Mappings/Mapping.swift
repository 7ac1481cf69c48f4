public import CoherenceCore
import Foundation

/// A description of how models of a type are stored as records, without a class of records.
///
/// ```swift
/// struct Person: Codable { let id: UUID; var name: String; var age: Int?; var tags: [String] }
///
/// let people = Mapping<Person>("Person", uid: \.id) {
///   Field("id", \.id)
///   Field("name", \.name)
///   Field("age", \.age)
///   Field("tags", json: \.tags)
/// }
/// let model = try ManagedObjectModel { people }
/// let manager = PersistenceManager(name: "People", model: model)
/// try manager.load()
/// try manager.save(people, models: everybody, shouldOverwrite: false)
/// let adults = try manager.fetchModels(people, where: people[\.age] >= 18, sort: [people.order(\.name)])
/// ```
///
/// A save stores the values of the fields' key paths. Only the fields of derived attributes are left out: their values
/// follow from the saved ones, and are fetched.
///
/// A fetch makes models by the type's own decoding. When every stored property is a field, and the first models of a
/// long fetch show that the decoding assigns the values unchanged, later models are assembled in memory, which is
/// several times as fast. For a type whose decoding refuses or changes rare values, pass `alwaysDecodes`.
///
/// Make a mapping once, as a constant. It may be used on any thread.
public struct Mapping<Model: Codable & SendableMetatype>: Sendable {
  /// The name of the entity in the model.
  public let entityName: String
  public let fields: [Field<Model>]
  /// The names of the entity in earlier versions of the program, the latest first.
  public let formerNames: [String]
  private let uidKeyPath: any PartialKeyPath<Model> & Sendable
  let profile: DecodingProfile

  /// - Parameters:
  ///   - formerNames: The names of the entity in earlier versions of the program, the latest first. A store with one of
  ///     these names keeps its records.
  ///   - uid: The property that identifies a model. One of the fields has this key path.
  ///   - alwaysDecodes: Whether the type's own decoding makes every model, regardless of its observed behaviour.
  public init<Uid: AttributeConvertible>(
    _ entityName: String, renamedFrom formerNames: String..., uid: any KeyPath<Model, Uid> & Sendable,
    alwaysDecodes: Bool = false, @FieldsBuilder<Model> fields: () -> [Field<Model>]
  ) {
    self.entityName = entityName
    self.formerNames = formerNames
    self.fields = fields()
    uidKeyPath = uid
    profile = DecodingProfile(alwaysDecodes ? .custom : .unknown)
  }

  /// The entity of the mapping, to build a model with: an attribute for each field, and a uniqueness constraint on the
  /// uid.
  public var entity: Entity {
    let uniqueness = uidIndex.map { [[fields[$0].attribute.name]] } ?? []
    return Entity(entityName, uniqueness: uniqueness, formerNames: formerNames) {
      for field in fields { field.attribute }
    }
  }

  /// The index of the field of the uid; `nil` when no field has its key path.
  var uidIndex: Int? { fields.firstIndex { $0.keyPath == uidKeyPath } }

  private func path(of keyPath: PartialKeyPath<Model>) -> PropertyPath {
    fields.first { $0.keyPath == keyPath }.map { PropertyPath(names: [$0.attribute.name]) }
      ?? PropertyPath(names: [
        PropertyPath.nameless("A key path of '\(Model.self)' has no field in the mapping; add a `Field` for it.")
      ])
  }

  // MARK: Conditions and orders

  /// A property in a condition: `people[\.age] >= 18`. A fetch throws ``ErrorCode/invalidPredicate`` for a property
  /// without a field.
  public subscript<Value: AttributeConvertible>(keyPath: KeyPath<Model, Value>) -> QueryAttribute<Value> {
    QueryAttribute(.path(path(of: keyPath)))
  }

  /// A sort key for a property.
  ///
  /// - Parameters:
  ///   - options: Differences between texts to ignore. Only for texts.
  ///   - missingValues: The place of models without a value.
  public func order<Value: AttributeConvertible>(
    _ keyPath: KeyPath<Model, Value>, ascending: Bool = true, options: StringOptions = [],
    missingValues: MissingValuePlacement = .smallest
  ) -> SortKey {
    SortKey(path(of: keyPath), ascending ? .forward : .reverse, options: options, missingValues: missingValues)
  }
}

extension EntitiesBuilder {
  /// Declares the entity of a mapping.
  public static func buildExpression<Model>(_ mapping: Mapping<Model>) -> [Entity] { [mapping.entity] }
}
