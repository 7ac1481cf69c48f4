import Testing

@Suite("Named guarantees")
struct NamedGuaranteeTests {
  static let names = [
    "Atomic save", "Durable acknowledgement", "Known outcome", "No hidden retry", "One identity", "Conflict seen",
    "Snapshot read", "Same meaning", "View freshness", "No wait on main", "Context intact", "Cancel is clean",
    "No silent loss of type", "Misuse is loud",
  ]

  @Test(arguments: names)
  func `a guarantee has a file of its name among the tests`(name: String) throws {
    let words = name.split(separator: " ")
    let subject = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    let files = try Repository().sources(in: "Tests").map(\.name)
    #expect(files.contains(subject) || files.contains(subject + "Tests"), "Add \(subject)Tests.swift.")
  }
}
