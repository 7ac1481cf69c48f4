/// A record in a live result: its identifier, its sort values, and numbers that identify its state.
struct ResultEntry: Sendable {
  /// The values of the sort keys.
  let values: [AttributeValue]
  let id: ManagedObjectID
  /// The version of the record's row; zero for an unsaved record.
  var version: Int64
  /// A number that changes with each state of the record in the result, also without a change of the version.
  var revision: UInt64
}

/// The total order of a live result: by the sort keys, then saved records by key, then unsaved records in order of
/// insertion.
struct ResultOrder: Sendable {
  let keys: PreparedOrder?

  func precedes(_ left: ResultEntry, _ right: ResultEntry) -> Bool {
    let comparison = keys?.order(left.values, right.values) ?? 0
    return comparison == 0 ? ManagedObjectID.precedes(left.id, right.id) : comparison < 0
  }

  /// The order of two values of the first sort key: negative, zero or positive.
  func orderOfSections(_ left: AttributeValue, _ right: AttributeValue) -> Int {
    keys?.keys.first?.order(left, right) ?? 0
  }
}
