package import CoherenceCore

/// Records to reconcile with stored rows, each with a key: the values of the attributes that identify its row.
package protocol KeyedInput {
  /// The number of input records. Their indexes begin at 0.
  var count: Int { get }

  /// Writes the key of an input record, in the form in which rows hold it.
  ///
  /// - Parameter key: Has one element for each key attribute, before and after the call; `.null` for a missing value.
  func readKey(_ index: Int, into key: inout [AttributeValue]) throws
}
