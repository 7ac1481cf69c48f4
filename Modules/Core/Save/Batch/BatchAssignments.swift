/// The assignments of a batch update: constants and calculations, by slot, with the derived attributes that follow from
/// them.
struct BatchAssignments {
  private let entity: EntityDescription
  private let includesSubentities: Bool
  private let derivedValues: DerivedValues
  /// The constants of the request.
  private let given: [Int: AttributeValue]
  /// The calculations of the request.
  private let calculations: [Int: BatchCalculation]
  /// The slots that the request may change, derived ones among them.
  let changedSlots: SlotSet
  /// The constants, with the derived values that no calculation changes.
  private let constants: [Int: AttributeValue]
  /// The calculations in the form for a ``BatchCalculating`` store; `nil` if Core must calculate.
  private let arithmetic: [Int: SlotArithmetic]?

  init(_ request: BatchUpdateRequest, of entity: EntityDescription, in context: ManagedObjectContext) throws {
    self.entity = entity
    includesSubentities = request.includesSubentities
    derivedValues = DerivedValues(in: try context.coordinator(), by: context.transactionAuthor)
    given = try context.checkedValues(request.values, of: entity)
    let calculations = try Self.calculations(of: request, entity, besides: given)
    self.calculations = calculations
    var constants = given
    // The calculated slots have a provisional value here, so that `derive` refuses derived attributes of subentities
    // that a request for their superentity cannot write.
    for slot in calculations.keys { constants[slot] = .null }
    try derivedValues.derive(&constants, of: entity, request.includesSubentities)
    changedSlots = SlotSet(constants.keys)
    let derivesFromCalculations = entity.checked.derived.contains { derived in
      derived.source.map { calculations[$0] != nil } ?? false
    }
    for slot in calculations.keys { constants[slot] = nil }
    self.constants = constants
    var arithmetic: [Int: SlotArithmetic]? = derivesFromCalculations ? nil : [:]
    for (slot, calculation) in calculations {
      guard let simple = calculation.arithmetic else {
        arithmetic = nil
        break
      }
      arithmetic?[slot] = simple
    }
    self.arithmetic = arithmetic
  }

  private static func calculations(
    of request: BatchUpdateRequest, _ entity: EntityDescription, besides values: [Int: AttributeValue]
  ) throws -> [Int: BatchCalculation] {
    var result: [Int: BatchCalculation] = [:]
    for (name, expression) in request.expressions {
      guard let attribute = try entity.property(named: name) as? AttributeDescription else {
        throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is a relationship; a batch sets attributes only.")
      }
      try attribute.checkIsAssignable()
      guard values[attribute.slot] == nil else {
        throw CoherenceError(
          .invalidFetchRequest,
          "A batch update gives '\(entity.name).\(name)' both a value and a calculation; keep one of them.")
      }
      result[attribute.slot] = try BatchCalculation(expression, for: attribute, of: entity)
    }
    return result
  }

  /// Changes the records in a store that supports the assignments.
  ///
  /// - Returns: The identifiers of the changed records; `nil`, without a change, for a store without this support.
  func execute(_ query: StoreQuery, in store: any PersistentStore) throws -> [ManagedObjectID]? {
    guard let arithmetic else { return nil }
    return try store.writing {
      if arithmetic.isEmpty { return try (store as? any BatchExecuting)?.batchUpdate(query, values: constants) }
      return try (store as? any BatchCalculating)?.batchUpdate(query, values: constants, arithmetic: arithmetic)
    }
  }

  /// The new values of a record.
  ///
  /// - Throws: Errors of calculations.
  func values(for row: Row) throws -> [Int: AttributeValue] {
    if calculations.isEmpty { return constants }
    var values = given
    for (slot, calculation) in calculations { values[slot] = try calculation.value(for: row) }
    try derivedValues.derive(&values, of: entity, includesSubentities)
    return values
  }
}
