extension EntityDescription {
  /// Returns the next keys for records of the hierarchy, for stores that allocate keys.
  ///
  /// - Parameters:
  ///   - count: The number of keys.
  ///   - last: The greatest key in use.
  /// - Throws: ``ErrorCode/limitExceeded`` when the keys would be too great. Another program may have written a record
  ///   with such a key.
  package func keys(_ count: Int, after last: Int64) throws(CoherenceError) -> Range<Int64> {
    let (first, firstOverflows) = last.addingReportingOverflow(1)
    let (end, endOverflows) = first.addingReportingOverflow(Int64(count))
    if firstOverflows || endOverflows { throw keysExhausted }
    return first..<end
  }

  /// The error for a hierarchy without a key for a new record.
  package var keysExhausted: CoherenceError {
    CoherenceError(
      .limitExceeded,
      "The store has no key left for a new record of '\(root.name)', because a record has the greatest possible key, "
        + "or one near to it; give that record a lower key.")
  }
}
