public import Foundation

/// The time of a value at its source: of two values of one entity, the value with the higher stamp is newer.
///
/// Any ascending numbers are suitable: seconds, versions of a server, positions in a log. A write without a stamp is
/// always accepted and does not change the stamp; a write with the stored stamp or a lower stamp is rejected. Of two
/// writes with the same stamp in one transaction, the later counts. `Double` distinguishes whole numbers up to 2^53;
/// subtract an epoch from larger numbers, such as nanoseconds.
public typealias Stamp = Double

extension Date {
  /// Seconds since 1 January 2001, as a stamp. Setting a clock back lowers later stamps, so that the store rejects
  /// their values; use versions of the server where no value may be rejected for that reason.
  public var stamp: Stamp { timeIntervalSinceReferenceDate }
}

/// The reason why a value was rejected because of its stamp. The entity keeps its value. If the entity is nested in a
/// stored aggregate, the aggregate and its other entities are stored nevertheless.
public enum StampError: Error, Equatable {
  /// The stamp of the stored value is equal to the received stamp, or higher.
  case tooOld(current: Stamp, received: Stamp)
  /// The stamp is not a number, so it cannot be compared with the stamp of the stored value.
  case notANumber
}

/// The reason why a value was rejected, other than its stamp.
public enum EntityError: Error, Equatable {
  /// A closure that updates an entity gave it another identifier. No value was changed: store the result as an entity
  /// of its own instead.
  case identifierChanged
  /// A closure gave one entity different values at several occurrences. The last occurrence counts.
  case differentChanges
}
