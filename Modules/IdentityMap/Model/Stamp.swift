public import Foundation

/// The freshness of a value: of two values of one entity, the value with the higher stamp is newer.
///
/// Any ascending numbers are suitable: seconds, versions of a server, positions in a log. A write without a stamp is
/// always accepted and does not change the stamp; a write with the stored stamp or a lower stamp is rejected. `Double`
/// distinguishes whole numbers up to 2^53; subtract an epoch from larger numbers, such as nanoseconds.
public typealias Stamp = Double

extension Date {
  /// Seconds since 1 January 2001, as a stamp. Steps of the clock show in it: where writes must never be refused
  /// because a clock was set back, use versions of the server instead.
  public var stamp: Stamp { timeIntervalSinceReferenceDate }
}

/// Why a value was refused because of its stamp. Nothing was changed.
public enum StampError: Error, Equatable {
  /// The stored value is at least as fresh as the received one.
  case tooOld(current: Stamp, received: Stamp)
  /// The stamp is not a number, so nothing can be said of the value's freshness.
  case notANumber
}

/// Why a value was refused for another reason. Nothing was changed.
public enum EntityError: Error, Equatable {
  /// A closure that updates an entity gave it another identifier. Store the result as an entity of its own instead.
  case identifierChanged
  /// A closure gave one entity different values at several occurrences. The last occurrence counts.
  case differentChanges
}
