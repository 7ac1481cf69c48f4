import CoherenceCore
import CoherenceReconciliation

/// The uids of the models of one save, in the form in which records hold them. Strings are compared by their bytes, as
/// stores do.
struct UidInput: KeyedInput {
  let uids: [AttributeValue]

  /// - Parameter uid: Returns the uid of a model.
  /// - Throws: ``ErrorCode/invalidUid``; errors of the closure.
  init(_ count: Int, of table: UidTable, uid: (Int) throws -> AttributeValue) throws {
    var uids: [AttributeValue] = []
    uids.reserveCapacity(count)
    for index in 0..<count { uids.append(try table.checked(uid(index))) }
    self.uids = uids
  }

  var count: Int { uids.count }

  func readKey(_ index: Int, into key: inout [AttributeValue]) { key[0] = uids[index] }

  /// Returns an index of the models by uid.
  ///
  /// - Throws: ``ErrorCode/duplicateUid`` for two models with one uid, if the policy refuses them.
  func index(of table: UidTable, duplicates: DuplicateUids) throws -> InputIndex {
    let index = InputIndex(self, keyWidth: 1)
    var key = [AttributeValue.null]
    for model in uids.indices {
      key[0] = uids[model]
      let isDuplicate = try index.insert(model, key: key, replacesEarlier: duplicates == .lastWins)
      if isDuplicate, duplicates == .refused { throw table.duplicateUidError }
    }
    return index
  }
}
