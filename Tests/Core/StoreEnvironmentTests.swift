import CoherenceCore
import Foundation
import Testing

/// The options of stores, as backends read them.
@Suite struct StoreEnvironmentTests {
  private func environment(_ options: [String: OptionValue]) throws -> StoreEnvironment {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    return StoreEnvironment(type: StoreType("Some"), url: nil, model: model, options: options)
  }

  private func refusal(_ read: () throws -> Void) -> CoherenceError? {
    do {
      try read()
      return nil
    } catch {
      return error as? CoherenceError
    }
  }

  @Test func `a number is accepted at the bounds of its range, and refused beyond them and as another type`() throws {
    for number in [2, 5, 9] {
      let value = try environment(["size": .int(number)]).number("size", in: 2...9)
      #expect(value == number)
    }
    #expect(try environment([:]).number("size", in: 2...9) == nil)
    for value in [.int(1), .int(10), .double(3), .string("3"), .bool(true)] as [OptionValue] {
      let error = refusal { _ = try environment(["size": value]).number("size", in: 2...9) }
      #expect(error?.code == .invalidOption)
      #expect(error?.message == "The Some option 'size' must be a number from 2 to 9.")
    }
  }

  @Test func `a time is a number of seconds from zero to a day`() throws {
    for (value, seconds) in [(.int(0), 0), (.int(86_400), 86_400), (.double(0.5), 0.5), (.double(86_400), 86_400)]
      as [(OptionValue, TimeInterval)]
    {
      #expect(try environment(["wait": value]).seconds("wait") == seconds)
    }
    #expect(try environment([:]).seconds("wait") == nil)
    for value in [.int(-1), .int(86_401), .double(-0.1), .double(86_400.1), .string("1")] as [OptionValue] {
      let error = refusal { _ = try environment(["wait": value]).seconds("wait") }
      #expect(error?.message == "The Some option 'wait' must be a number of seconds from 0 to 86400.")
    }
  }

  @Test func `a text is accepted if it is valid`() throws {
    func mode(_ options: [String: OptionValue]) throws -> String? {
      try environment(options).text("mode", "'on' or 'off'") { ["on", "off"].contains($0) }
    }
    #expect(try mode(["mode": "off"]) == "off")
    #expect(try mode([:]) == nil)
    for value in ["maybe", true] as [OptionValue] {
      let error = refusal { _ = try mode(["mode": value]) }
      #expect(error?.message == "The Some option 'mode' must be 'on' or 'off'.")
    }
  }

  @Test func `a store without options migrates, loses no data, and is written`() throws {
    let plain = try environment([:])
    #expect(plain.allowsMigration && !plain.allowsDataLoss && !plain.allowsDuplicateKeys)
    #expect(!plain.refusesSuspectedRenames && !plain.isPartialModel && !plain.isReadOnly)
    let names = [
      StoreOption.allowsDataLoss, StoreOption.allowsDuplicateKeys, StoreOption.refusesSuspectedRenames,
      StoreOption.partialModel, StoreOption.readOnly,
    ]
    var options: [String: OptionValue] = [StoreOption.migrateAutomatically: false]
    for name in names { options[name] = true }
    let other = try environment(options)
    #expect(!other.allowsMigration && other.allowsDataLoss && other.allowsDuplicateKeys)
    #expect(other.refusesSuspectedRenames && other.isPartialModel && other.isReadOnly)
  }

  @Test func `an option has a value of its own type only`() throws {
    let environment = try environment(["flag": true, "count": 3, "text": "t"])
    #expect(environment.bool("flag") == true && environment.int("count") == 3 && environment.string("text") == "t")
    #expect(environment.bool("count") == nil && environment.int("text") == nil && environment.string("flag") == nil)
    #expect(environment.bool("none") == nil && environment.int("none") == nil && environment.string("none") == nil)
  }

  @Test func `a name is taken for a misspelt option within two letters, of at least six`() throws {
    for (name, meant) in [
      ("reedOnlx", "readOnly"), ("readOn", "readOnly"), ("readOnlyyy", "readOnly"), ("READ-only", "readOnly"),
      ("abcdef", "abcdefg"), ("bcdefgh", "abcdefg"), ("MODE", "mode"), ("mo_de", "mode"),
    ] {
      let sentence = "A Some store has no option '\(name)'; write '\(meant)', or remove the option."
      let error = refusal { try environment([name: true]).checkOptionNames(besides: ["abcdefg", "mode"]) }
      #expect(error?.code == .invalidOption)
      #expect(error?.message == sentence)
    }
    for name in ["reedOmlx", "readO", "abcde", "mods", "abcdefg", "mode", "readOnly", "size"] {
      try environment([name: true]).checkOptionNames(besides: ["abcdefg", "mode"])
    }
  }

  @Test func `a store of a part of a hierarchy holds the whole hierarchy, and the links between its entities alone`()
    throws
  {
    let model = try ManagedObjectModel(configurations: ["Part": ["Child", "Note"], "Others": ["Tag"]]) {
      Entity("Tag") { Relationship("notes", toMany: "Note", inverse: "tags") }
      Entity("Parent") { Attribute("name", .string) }
      Entity("Child", parent: "Parent")
      Entity("Sibling", parent: "Parent")
      Entity("Note") {
        Relationship("tags", toMany: "Tag", inverse: "notes")
        Relationship("parents", toMany: "Parent", inverse: nil)
      }
    }
    func environment(_ configuration: String?) -> StoreEnvironment {
      StoreEnvironment(type: StoreType("Some"), url: nil, configurationName: configuration, model: model)
    }
    let part = environment("Part")
    #expect(Set(part.entities.map(\.name)) == ["Parent", "Child", "Sibling", "Note"])
    #expect(Set(part.roots.map(\.name)) == ["Parent", "Note"])
    #expect(part.linkTables.count == 1)
    #expect(environment(nil).linkTables.count == 2)
    #expect(environment("Others").linkTables.isEmpty && environment("Missing").entities.isEmpty)
  }
}
