import Foundation
import Testing

@testable import CoherenceModelCode

@Suite("Reserved names")
struct ReservedNameTests {
  @Test func `every property of managed objects is a reserved name`() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let interface = try String(contentsOf: root.appendingPathComponent("API/CoherenceCore.txt"), encoding: .utf8)
    let names = interface.split(separator: "\n").compactMap { line -> String? in
      guard line.hasPrefix("ManagedObject."), line.contains(" var "), !line.contains("static var"),
        !line.contains("class var")
      else { return nil }
      return String(line.dropFirst("ManagedObject.".count).prefix { $0 != " " })
    }
    #expect(names.count > 5)
    #expect(Set(names).subtracting(SwiftName.members) == [])
  }
}
