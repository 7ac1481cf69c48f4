public import Foundation

/// How fresh a value is: of two values of one entity, the one with the higher stamp is the newer.
///
/// Any order of numbers will do: seconds, versions of a server, positions in a log. A write without a stamp is always
/// accepted and leaves the stamp as it was; a write whose stamp is equal to the stored one or lower is refused.
/// `Double` tells whole numbers apart up to 2^53; for larger ones, such as nanoseconds, subtract an epoch first.
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
  /// A closure changed an entity at several places of one value, and not everywhere to the same. The last place counts.
  case differentChanges
}
