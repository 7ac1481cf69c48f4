import Testing

@testable import CoherenceCore

/// The number of kept reports of accessors is bounded, and a lost change is remembered.
@Suite struct AccessorReportsTests {
  private let space: IDSpace

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    space = IDSpaces(store: StoreIdentifier("reports"), model: model)[try model.entity(named: "Thing")]
  }

  private func report(_ key: Int, losesChange: Bool = false) -> AccessorReports.Report {
    AccessorReports.Report(
      objectID: ManagedObjectID(space: space, key: Int64(key)), error: CoherenceError(.objectNotFound, "Gone."),
      losesChange: losesChange)
  }

  @Test func `an object that fails to load is reported once and counted every time`() {
    var reports = AccessorReports()
    #expect(reports.add(report(1)) == .listed)
    for _ in 0..<1_000 { #expect(reports.add(report(1)) == .passedOver) }
    #expect(reports.list.count == 1 && reports.count == 1_001)
    #expect(reports.lostChanges.isEmpty)
  }

  @Test func `a hundred reports are kept and the overflow is reported once`() {
    var reports = AccessorReports()
    for key in 0..<AccessorReports.bound { #expect(reports.add(report(key)) == .listed) }
    #expect(reports.add(report(1_000)) == .full)
    #expect(reports.add(report(1_001)) == .passedOver)
    #expect(reports.list.count == AccessorReports.bound)
  }

  @Test func `a lost change is remembered when the list of reports is full, until all reports are cleared`() {
    var reports = AccessorReports()
    for key in 0..<AccessorReports.bound { _ = reports.add(report(key)) }
    _ = reports.add(report(1_000, losesChange: true))
    #expect(reports.lostChanges.map(\.objectID.key) == [1_000])
    for key in 0..<AccessorReports.bound { reports.remove(ManagedObjectID(space: space, key: Int64(key))) }
    #expect(!reports.lostChanges.isEmpty)
    reports.removeAll()
    #expect(reports.lostChanges.isEmpty && reports.isEmpty)
  }

  @Test func `a refresh clears an object's reports, and a new failure is reported again`() {
    var reports = AccessorReports()
    _ = reports.add(report(1))
    _ = reports.add(report(1, losesChange: true))
    reports.remove(ManagedObjectID(space: space, key: 1))
    #expect(reports.isEmpty)
    #expect(reports.add(report(1)) == .listed)
  }
}
