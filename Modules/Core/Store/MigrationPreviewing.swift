/// A factory that shows the migration of a store before the store is opened.
///
/// ``PersistentStoreCoordinator/migrationPreview(for:at:)`` uses it, and throws ``ErrorCode/unsupported`` for a factory
/// without the refinement.
public protocol MigrationPreviewing: StoreFactory {
  /// Compares a store with the environment's model as an opening would, counts the values that the migration would
  /// drop, and looks for duplicates under new uniqueness constraints. Changes nothing. Other programs may use the store
  /// meanwhile, so that a later opening may find another state.
  ///
  /// - Returns: The migration; `nil` for a location without a store.
  /// - Throws: The refusal of the opening, such as ``ErrorCode/incompatibleModel`` with its
  ///   ``CoherenceError/dataLosses`` or ``CoherenceError/duplicateKeys``, as far as it is known without a conversion;
  ///   errors of the store.
  func migrationPreview(_ environment: StoreEnvironment) throws -> MigrationPreview?
}

/// The changes that the opening of a store would make to its schema and its records.
public struct MigrationPreview: Sendable, Hashable {
  /// The statements in the language of the store, in their order, with parameters in place of values. Conversions run
  /// between them.
  public var statements: [String]
  /// The attributes whose values the program itself computes between the statements, as `entity.attribute`: by a
  /// ``ValueConversion``, or by a ``Derivation`` from a text.
  public var convertedAttributes: [String]
  /// The values and records that the migration drops, as ``StoreOption/allowsDataLoss`` permits.
  public var dataLosses: [DataLoss]

  /// Whether the store stays as it is. The record of the models that have opened the store does not count.
  public var isEmpty: Bool { statements.isEmpty && convertedAttributes.isEmpty && dataLosses.isEmpty }

  /// Makes a preview, for factories.
  public init(statements: [String] = [], convertedAttributes: [String] = [], dataLosses: [DataLoss] = []) {
    self.statements = statements
    self.convertedAttributes = convertedAttributes
    self.dataLosses = dataLosses
  }
}
