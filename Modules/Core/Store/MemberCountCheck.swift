/// A check of to-many relationships, which a store makes after the steps of a save: each owner must have a permitted
/// number of members. Members that other writers saved count too, and the saving context may not know them.
public struct MemberCountCheck: Sendable {
  /// A to-many relationship.
  public var relationship: RelationshipDescription
  /// The least number of members.
  public var minimum: Int
  /// The greatest number of members; `nil` for any number.
  public var maximum: Int?
  /// The keys of the owners, ascending. Owners that do not exist any more are skipped.
  public var owners: [Int64]

  /// Makes a check by the bounds that the model declares for a relationship.
  ///
  /// - Parameters:
  ///   - relationship: A to-many relationship.
  ///   - owners: The keys of the owners, ascending.
  public init(_ relationship: RelationshipDescription, owners: [Int64]) {
    self.relationship = relationship
    minimum = relationship.minimumCount
    maximum = relationship.maximumCount
    self.owners = owners
  }
}

/// Collects the owners with too few or too many members, for one error about all of them: a call of
/// ``note(_:of:in:)`` for each owner, then ``conclude()``.
public struct MemberCountFailures {
  private var failures: [ValidationFailure] = []

  /// Makes a collection without failures.
  public init() {}

  /// Compares the number of members of an owner with the bounds of a check, and keeps a violation.
  ///
  /// - Parameters:
  ///   - count: The number of members in the store, after the steps of the save.
  ///   - owner: The identifier of the owner.
  ///   - check: The check of the owner's relationship.
  public mutating func note(_ count: Int, of owner: ManagedObjectID, in check: MemberCountCheck) {
    guard let (code, reason) = Self.complaint(count, minimum: check.minimum, maximum: check.maximum) else { return }
    failures.append(
      ValidationFailure(
        code: code, objectID: owner, entityName: check.relationship.entity.name,
        propertyName: check.relationship.name, reason: reason))
  }

  /// Throws if any noted owner has too few or too many members.
  ///
  /// - Throws: ``ErrorCode/validationFailed`` with a failure for each owner with too few or too many members.
  public func conclude() throws {
    guard !failures.isEmpty else { return }
    var error = CoherenceError(
      .validationFailed,
      "\(failures.count) to-many relationship(s) would have too few or too many members, "
        + "counting members that other writers saved. Refresh the owners, change their members, and save again.")
    error.failures = failures
    error.objectIDs = failures.map(\.objectID)
    throw error
  }

  /// The code and the reason of a wrong number of members; `nil` for a number within the bounds. The validation in
  /// contexts uses the same sentences.
  static func complaint(_ count: Int, minimum: Int, maximum: Int?) -> (code: ErrorCode, reason: String)? {
    if count < minimum { return (.missingValue, "needs at least \(minimum) members") }
    if let maximum, count > maximum { return (.invalidValue, "may have at most \(maximum) members") }
    return nil
  }
}

extension StoreSaveRequest {
  /// Checks the numbers of members after the steps, for stores that count one owner at a time.
  ///
  /// - Parameters:
  ///   - spaces: The spaces of the store's identifiers.
  ///   - count: Returns the number of members of the owner with a key after the steps; `nil` for a missing owner.
  /// - Throws: ``ErrorCode/validationFailed``, and errors of `count`.
  public func checkMemberCounts(
    in spaces: IDSpaces, count: (RelationshipDescription, Int64) throws -> Int?
  ) throws {
    var failures = MemberCountFailures()
    for check in memberCounts {
      for owner in check.owners {
        guard let number = try count(check.relationship, owner) else { continue }
        failures.note(number, of: ManagedObjectID(space: spaces[check.relationship.entity], key: owner), in: check)
      }
    }
    try failures.conclude()
  }
}
