import Foundation

/// How far an action is, at one moment.
public struct ActionProgress: Sendable, Hashable {
  /// The units of work that are done; what a unit is, the action decides.
  public let completedUnitCount: Int64
  /// The units of work in all; zero while that is not known.
  public let totalUnitCount: Int64

  /// From 0 to 1; zero while the total is not known.
  public var fractionCompleted: Double {
    totalUnitCount > 0 ? Double(completedUnitCount) / Double(totalUnitCount) : 0
  }
}
