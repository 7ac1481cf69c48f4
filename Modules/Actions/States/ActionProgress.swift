import Foundation

/// How far an action is, at one moment.
public struct ActionProgress: Sendable, Hashable {
  /// The finished units of work; the action decides what a unit is.
  public let completedUnitCount: Int64
  /// The units of work in all; zero while the number is not known.
  public let totalUnitCount: Int64

  /// From 0 to 1; zero while the total is not known.
  public var fractionCompleted: Double {
    totalUnitCount > 0 ? Double(completedUnitCount) / Double(totalUnitCount) : 0
  }
}
