import CoherenceCore

/// The records of a merge's input, by their places.
///
/// What a record says is read when it is needed and not kept, so that input costs a merge no memory beside its own.
protocol MergeInput {
  var count: Int { get }

  /// Writes the values of a record's key.
  func readKey(_ place: Int, into key: inout [AttributeValue]) throws

  /// Writes the values that a record names, by slot of its entity, and `nil` in the other slots. To-one relationships are
  /// left out.
  ///
  /// - Parameter isChecked: Whether the values can be written. Otherwise they are only good for comparing: one that no
  ///   store keeps may come as it is, and differs from all that are kept.
  func readValues(_ place: Int, into values: inout [AttributeValue?], isChecked: Bool) throws

  /// The relationships that a record names.
  func links(_ place: Int) throws -> [(relationship: RelationshipDescription, link: MergeLink)]

  /// The record's own entity.
  func entity(_ place: Int) -> EntityDescription

  /// Makes the record, without its links, in a context.
  func insert(_ place: Int, into context: ActionContext) throws -> ManagedObject
}
