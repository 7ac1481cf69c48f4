import CoherenceCore

/// The places of models by uid, in the form in which records hold it. Strings are told apart by their bytes, as stores
/// do: no order, and no collation, takes part.
struct UidIndex {
  private var places: [AttributeValue: Int] = [:]
  /// The uids, one for each place; `nil` where another model goes before.
  private(set) var uids: [AttributeValue?] = []
  /// How many models are left out.
  private(set) var skipped = 0

  /// - Parameter uids: The models', as records would hold them.
  /// - Throws: ``ErrorCode/duplicateUid``; what the uids throw.
  init(_ count: Int, of table: UidTable, duplicates: DuplicateUids, uid: (Int) throws -> AttributeValue) throws {
    places.reserveCapacity(count)
    uids.reserveCapacity(count)
    for place in 0..<count {
      let uid = try table.checked(uid(place))
      guard let other = places[uid] else {
        places[uid] = place
        uids.append(uid)
        continue
      }
      skipped += 1
      switch duplicates {
      case .refused: throw table.duplicateUid
      case .firstWins: uids.append(nil)
      case .lastWins:
        uids[other] = nil
        places[uid] = place
        uids.append(uid)
      }
    }
  }

  /// The place of the model with a uid.
  subscript(uid: AttributeValue) -> Int? { places[uid] }
}
