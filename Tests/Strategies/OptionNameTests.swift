import CoherenceCore
import TestSupport
import Testing

/// The names of the options of stores.
@Suite("Names of options") struct OptionNameTests {
  private static let model = Result { try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } } }

  private func attach(_ backend: Backend, _ options: [String: OptionValue]) throws {
    let stack = try LoggedStore(backend, Self.model.get(), options: options)
    try stack.coordinator.remove(stack.store)
  }

  @Test(arguments: Backend.available)
  func `an option whose name is misspelt is refused, with the name that was meant`(backend: Backend) throws {
    for (name, meant) in [
      ("readonly", "readOnly"), ("read_only", "readOnly"), ("migrateAutomaticaly", "migrateAutomatically"),
      ("allowDataLoss", "allowsDataLoss"),
    ] {
      let error = #expect(throws: CoherenceError.self) { try attach(backend, [name: .bool(true)]) }
      #expect(error?.code == .invalidOption)
      #expect(error?.message.contains("'\(name)'") == true && error?.message.contains("'\(meant)'") == true)
    }
  }

  @Test(arguments: Backend.available)
  func `a misspelt option of the store's own is refused`(backend: Backend) throws {
    let name =
      switch backend {
      case .sqlite: "busytimeout"
      case .postgreSQL: "statement_timeout"
      default: "shared-name"
      }
    let error = #expect(throws: CoherenceError.self) { try attach(backend, [name: .int(1)]) }
    #expect(error?.code == .invalidOption && error?.message.contains("'\(name)'") == true)
  }

  @Test(arguments: Backend.available)
  func `options of other stores and of the program are ignored`(backend: Backend) throws {
    try attach(backend, ["encryptionKey": .string("k"), "com.example.note": .int(1)])
    if backend != .postgreSQL { try attach(backend, ["poolSize": .int(2), "statementTimeout": .int(5)]) }
    if backend != .sqlite { try attach(backend, ["synchronous": .string("full"), "busyTimeout": .int(1)]) }
  }
}
