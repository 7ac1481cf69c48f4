import Foundation

/// All figures of a run, with what one must know to judge them.
struct Report: Codable {
  let machine: Machine
  let databases: Databases
  let rows: Int
  let rounds: Int
  let outcomes: [Outcome]

  var isMet: Bool { outcomes.allSatisfy { $0.verdicts.allSatisfy(\.isMet) } }

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}
