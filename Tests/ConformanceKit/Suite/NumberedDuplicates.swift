import Synchronization

/// Numbers the records that another writer inserts, one record before each save of the case.
final class NumberedDuplicates: Sendable {
  private let number = Mutex<Int64>(0)

  /// The next number, from 1 on; `nil` after the last one.
  func next(upTo last: Int64) -> Int64? {
    number.withLock { number in
      guard number < last else { return nil }
      number += 1
      return number
    }
  }
}
