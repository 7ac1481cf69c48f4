public import CoherenceCore

/// How models of a type are kept as records, without a class of records.
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
/// try manager.save(people, models: everybody, shouldOverwrite: true)
/// let adults = try manager.fetchModels(people, where: people[\.age] >= 18, sort: [people.order(\.name)])
/// ```
///
/// What is kept is what the key paths read. A fetched model is made by the type's own decoding, or, when every stored
/// property is a field and that decoding does nothing but put the values in their places, by putting them there directly,
/// which is several times as quick. Whether it does is seen from the first records of a long fetch. A type whose decoding
/// refuses or changes values that are rare says `alwaysDecodes`.
///
/// A mapping is a value without state; make it once, as a constant.
public struct Mapping<Model: Codable & SendableMetatype>: Sendable {
  /// The name of the entity in the model.
  public let entityName: String
  public let fields: [Field<Model>]
  /// The names that the entity had in earlier versions of the program, the latest first.
  public let formerNames: [String]
  private let uidKeyPath: any PartialKeyPath<Model> & Sendable
  let habit: DecodingHabit

  /// - Parameters:
  ///   - formerNames: The names that the entity had in earlier versions of the program, the latest first. A store that a
  ///     program with one of these names wrote keeps its records.
  ///   - uid: The property that tells models apart. It is one of the fields.
  ///   - alwaysDecodes: Whether every model is made by the type's own decoding, whatever that was seen to do.
  public init<Uid: AttributeConvertible>(
    _ entityName: String, renamedFrom formerNames: String..., uid: any KeyPath<Model, Uid> & Sendable,
    alwaysDecodes: Bool = false, @FieldsBuilder<Model> fields: () -> [Field<Model>]
  ) {
    self.entityName = entityName
    self.formerNames = formerNames
    self.fields = fields()
    uidKeyPath = uid
    habit = DecodingHabit(alwaysDecodes ? .doesMore : .unknown)
  }

  /// The entity, to build a model with: an attribute for each field, and no two records with one uid.
  public var entity: Entity {
    let uniqueness = uidPlace.map { [[fields[$0].attribute.name]] } ?? []
    return Entity(entityName, uniqueness: uniqueness, formerNames: formerNames) {
      for field in fields { field.attribute }
    }
  }

  /// The place of the field that tells models apart; `nil` when none has that key path.
  var uidPlace: Int? { fields.firstIndex { $0.keyPath == uidKeyPath } }

  private func path(of keyPath: PartialKeyPath<Model>) -> PropertyPath {
    fields.first { $0.keyPath == keyPath }.map { PropertyPath(names: [$0.attribute.name]) }
      ?? PropertyPath(names: [
        PropertyPath.nameless("A key path of '\(Model.self)' is no field of the mapping; give it one, as `Field`.")
      ])
  }

  // MARK: Conditions and orders

  /// A property in a condition: `people[\.age] >= 18`. A property that is no field makes a condition that a fetch refuses.
  public subscript<Value: AttributeConvertible>(keyPath: KeyPath<Model, Value>) -> QueryAttribute<Value> {
    QueryAttribute(.path(path(of: keyPath)))
  }

  /// A property as a criterion of an order.
  public func order<Value: AttributeConvertible>(
    _ keyPath: KeyPath<Model, Value>, ascending: Bool = true, options: StringOptions = []
  ) -> SortKey {
    SortKey(path(of: keyPath), ascending: ascending, options: options)
  }
}

extension EntitiesBuilder {
  /// Declares the entity of a mapping.
  public static func buildExpression<Model>(_ mapping: Mapping<Model>) -> [Entity] { [mapping.entity] }
}
