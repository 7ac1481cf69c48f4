/// The aggregates of members that an evaluation has computed, so that records with the same target share the result:
/// without it, the cost of a condition such as `album.tracks.@sum.length > 600` on all tracks of one album grows with
/// the square of their number.
///
/// Used on one thread, during one execution of a query in one state of the records.
package final class ComputedAggregates {
  /// The values of one aggregate by owner. The aggregate is retained, so that no other aggregate gets its identity.
  private typealias Values = (aggregate: AnyObject, byOwner: [ManagedObjectID: AttributeValue])
  private var values: [ObjectIdentifier: Values] = [:]

  package init() {}

  /// Returns the value of an aggregate for the owner of the members, which is computed once.
  ///
  /// - Parameter aggregate: The compiled aggregate.
  func value(
    of aggregate: AnyObject, for owner: ManagedObjectID, _ compute: () throws -> AttributeValue
  ) rethrows -> AttributeValue {
    let identity = ObjectIdentifier(aggregate)
    if let value = values[identity]?.byOwner[owner] { return value }
    let value = try compute()
    values[identity, default: (aggregate, [:])].byOwner[owner] = value
    return value
  }
}

/// A source of records for one execution of a query. Its records do not change during the execution.
package protocol AggregateRetaining: RecordSource {
  /// The aggregates that the execution has computed.
  var computedAggregates: ComputedAggregates { get }
}
