package import CoherenceCore

/// A to-one relationship whose targets the engine checks for other models than the present one. The present model
/// leaves the relationship out, or declares it without a constraint, so that no delete rule of the model clears its
/// references to deleted records.
package struct SQLLeftOutReference: Sendable {
  package let table: String
  package let column: String
  /// The column of the record's position among the target's members; `nil` without a position.
  package let position: String?
  /// The name of the constraint, in dialects that name constraints.
  package let constraint: String
  /// The name of the table referred to.
  package let target: String
  /// Whether a referred-to record must not be deleted.
  package let retainsTarget: Bool
  /// Whether the model has the table. A save then writes the versions of its records itself.
  package let isTableOfModel: Bool
  /// The relationship, as `Book.author`.
  package let path: String

  /// The assignments that clear the reference. Records of a table that the model leaves out get another version, as by
  /// any change. Records that the model has may be part of the same save, which compares and writes their version
  /// itself.
  package var clearingAssignments: SQLFragment {
    var set = ([column] + [position].compactMap { $0 }).map { "\(name: $0) = NULL" as SQLFragment }
    if !isTableOfModel { set.append("\(name: SQLTable.version) = \(name: SQLTable.version) + 1") }
    return set.joined(separator: ", ")
  }
}

extension CoherenceError {
  /// The error of the delete of a record that a left-out reference retains.
  package static func deleteRetained(_ id: ManagedObjectID, by reference: SQLLeftOutReference) -> CoherenceError {
    var error = CoherenceError(
      .deleteDenied,
      "A record of '\(id.entity.name)' cannot be deleted: records that a newer model keeps as '\(reference.path)' "
        + "require it. Delete it with a program that has that model.")
    error.objectIDs = [id]
    return error
  }
}
