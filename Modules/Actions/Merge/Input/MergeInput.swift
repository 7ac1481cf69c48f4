import CoherenceCore
import CoherenceReconciliation

/// The records of a merge's input, by index.
///
/// The content of a record is read each time that the merge needs it, so that a merge takes no memory for copies of its
/// input.
protocol MergeInput: KeyedInput {
  /// Writes the attribute values that a record contains, by slot of its entity, and `nil` in the other slots.
  ///
  /// - Parameter isChecked: Whether the values can be assigned to objects. Unchecked values are good for comparing alone: a
  ///   value that no row can hold may be written as it is, because it differs from every stored value.
  func readValues(_ index: Int, into values: inout [AttributeValue?], isChecked: Bool) throws

  /// Returns the relationships that a record contains.
  func links(_ index: Int) throws -> [(relationship: RelationshipDescription, link: MergeLink)]

  /// Returns the record's own entity: the merge's entity or one of its subentities.
  func entity(_ index: Int) -> EntityDescription

  /// Inserts an object of the record, without its links.
  func insert(_ index: Int, into context: ActionContext) throws -> ManagedObject
}
