/// The progress of an action at one moment.
public struct ActionProgress: Sendable, Hashable {
  /// The number of finished units of work. The action decides about the unit.
  public let completedUnitCount: Int64
  /// The number of all units of work; zero while the number is not known.
  public let totalUnitCount: Int64

  package init(completedUnitCount: Int64, totalUnitCount: Int64) {
    self.completedUnitCount = completedUnitCount
    self.totalUnitCount = totalUnitCount
  }

  /// The finished part of the work, from 0 to 1; zero while the total is not known.
  public var fractionCompleted: Double {
    totalUnitCount > 0 ? Double(completedUnitCount) / Double(totalUnitCount) : 0
  }
}
