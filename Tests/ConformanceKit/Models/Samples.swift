import CoherenceCore
import Foundation

/// One entity with an attribute of every type except weak references, and entities about defaults, requirements and
/// validation.
enum Samples {
  static let model = soundModel {
    everyType
    defaults
    rules
  }

  @EntitiesBuilder private static var everyType: [Entity] {
    Entity("Sample") {
      Attribute("name", .string, optional: true)
      Attribute("int16", .int16, optional: true)
      Attribute("int32", .int32, optional: true)
      Attribute("int64", .int64, optional: true)
      Attribute("bool", .bool, optional: true)
      Attribute("float", .float, optional: true)
      Attribute("double", .double, optional: true)
      Attribute("decimal", .decimal, optional: true)
      Attribute("string", .string, optional: true)
      Attribute("data", .data, optional: true)
      Attribute("date", .date, optional: true)
      Attribute("uuid", .uuid, optional: true)
      Attribute("url", .url, optional: true)
      Attribute("mood", .enumeration(Mood.self), optional: true)
      Attribute("level", .enumeration(raw: Level.self), optional: true)
      Attribute("codable", .codable, optional: true)
      Attribute("secret", .transformable("reverse"), optional: true)
      CompositeAttribute("place", parts: placeParts)
    }
  }

  private static let placeParts = [
    Attribute("street", .string, optional: true), Attribute("number", .int32, optional: true),
    Attribute("latitude", .double, optional: true), Attribute("isHome", .bool, optional: true),
  ]

  @EntitiesBuilder private static var defaults: [Entity] {
    Entity("Preset") {
      Attribute("name", .string, default: "unnamed")
      Attribute("int16", .int16, default: -16)
      Attribute("int32", .int32, default: 32)
      Attribute("int64", .int64, default: Int64.max)
      Attribute("bool", .bool, default: true)
      Attribute("float", .float, default: Float(0.5))
      Attribute("double", .double, default: 0.25)
      Attribute("decimal", .decimal, default: Decimal(sign: .plus, exponent: -2, significand: 1999))
      Attribute("data", .data, default: Data([1, 2, 3]))
      Attribute("date", .date, default: Date(timeIntervalSince1970: 86_400))
      Attribute("uuid", .uuid, default: UUID.attributeDefault)
      Attribute("url", .url, default: "https://example.org/")
      Attribute("mood", .enumeration(Mood.self), default: Mood.calm)
    }
  }

  @EntitiesBuilder private static var rules: [Entity] {
    Entity("Account") {
      Attribute("name", .string, validation: [.minimumLength(2), .maximumLength(8)])
      Attribute("age", .int32, optional: true, validation: [.minimum(.int(18)), .maximum(.int(120))])
      Attribute("code", .string, optional: true, validation: [.pattern("[A-Z]{2}[0-9]+")])
      Attribute("key", .data, optional: true, validation: [.minimumLength(2), .maximumLength(4)])
      Attribute("since", .date, optional: true, validation: [.minimum(.date(Timestamp(microseconds: 0)))])
      Attribute("balance", .decimal, optional: true, validation: [.minimum(.decimal(0))])
      Attribute("email", .string)
      Relationship("owner", toOne: "Owner", inverse: "accounts", optional: false)
    }
    Entity("Owner", class: CheckedOwner.self) {
      Attribute("name", .string)
      Relationship("accounts", toMany: "Account", inverse: "owner", maximumCount: 2, deleteRule: .cascade)
    }
    Entity("Team") {
      Attribute("name", .string)
      Relationship("players", toMany: "Player", inverse: "teams", minimumCount: 1)
    }
    Entity("Player") {
      Attribute("name", .string)
      Relationship("teams", toMany: "Team", inverse: "players")
    }
  }
}

enum Mood: String, CaseIterable, AttributeConvertible {
  case calm, happy, gloomy
}

enum Level: Int, CaseIterable, AttributeConvertible {
  case low = 1, high = 10
}

struct Place: Codable, Sendable, Equatable {
  var street: String?
  var number: Int?
  var latitude: Double?
  var isHome: Bool?
}

struct Preferences: Codable, Sendable, Equatable {
  var tags: [String]
  var limits: [String: Int]
}

/// An owner with a validation rule in code.
final class CheckedOwner: ManagedObject {
  struct Refusal: Error, CustomStringConvertible {
    let description = "nobody is called 'nobody'"
  }

  override func validateForInsert() throws { try validateName() }
  override func validateForUpdate() throws { try validateName() }

  private func validateName() throws {
    if try value(for: "name", as: String?.self) == "nobody" { throw Refusal() }
  }
}
