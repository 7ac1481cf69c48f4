import CoherenceCore
import Foundation
import Testing

/// The complete messages of faulty models: each fault is named once, and nothing else is.
@Suite struct ModelFaultTests {
  struct Fault: CustomTestStringConvertible {
    let message: String
    let configurations: [String: [String]]
    let entities: @Sendable () -> [Entity]

    init(
      _ message: String, configurations: [String: [String]] = [:], _ entities: @escaping @Sendable () -> [Entity]
    ) {
      self.message = message
      self.configurations = configurations
      self.entities = entities
    }

    var testDescription: String { message }
  }

  @Test(arguments: names + formerNames + hierarchies + properties + rules + relationships + lists)
  func `a fault of a model is named in a sentence, once`(fault: Fault) {
    let error = #expect(throws: CoherenceError.self) {
      try ManagedObjectModel(entities: fault.entities(), configurations: fault.configurations)
    }
    #expect(error?.code == .invalidModel)
    #expect(error?.message == fault.message)
  }

  private static let names = [
    Fault("An entity has no name.") { [Entity("")] },
    Fault("An entity's name contains U+0000.") { [Entity("A\0")] },
    Fault("Two entities are named 'A'.") { [Entity("A"), Entity("B"), Entity("A")] },
    Fault("A property of 'A' has no name.") { [Entity("A") { Attribute("", .string) }] },
    Fault("A property's name of 'A' contains U+0000.") { [Entity("A") { Attribute("x\0", .string) }] },
  ]

  private static let formerNames = [
    Fault("The renaming identifier of 'A' is empty.") { [Entity("A", formerNames: [""])] },
    Fault("'B' is renamed from 'A', which the model still has.") { [Entity("A"), Entity("B", formerNames: ["A"])] },
    Fault("Two entities are renamed from 'X'.") {
      [Entity("A", formerNames: ["X"]), Entity("B", formerNames: ["Y", "X"])]
    },
    Fault("The renaming identifier of 'A.x' is empty.") {
      [Entity("A") { Attribute("x", .string, formerNames: [""]) }]
    },
    Fault("'A.y' is renamed from 'x', which the entity still has.") {
      [
        Entity("A") {
          Attribute("x", .string)
          Relationship("y", toOne: "A", inverse: nil, formerNames: ["x"])
        }
      ]
    },
    Fault("Two properties of 'A' are renamed from 'z'.") {
      [
        Entity("A") {
          Attribute("x", .string, formerNames: ["z"])
          Relationship("y", toMany: "A", inverse: nil, formerNames: ["z"])
        }
      ]
    },
    Fault("'A.size.x' is renamed from 'w', which the entity still has.") {
      [
        Entity("A") {
          Attribute("w", .double)
          CompositeAttribute("size", parts: [Attribute("x", .double, formerNames: ["w"])])
        }
      ]
    },
  ]

  private static let hierarchies = [
    Fault("Entity 'A' inherits from 'X', which the model does not have; add the entity or its class.") {
      [Entity("A", parent: "X"), Entity("B", parent: "A")]
    },
    Fault("Entity 'A' inherits from itself. Entity 'B' inherits from itself.") {
      [Entity("A", parent: "B"), Entity("B", parent: "A")]
    },
    Fault("Entity 'B' has two properties named 'x'.") {
      [Entity("A") { Attribute("x", .string) }, Entity("B", parent: "A") { Attribute("x", .string) }]
    },
  ]

  private static let properties = [
    Fault("Entity 'A' has a part of a composite and another property named 'size.x'.") {
      [
        Entity("A") {
          Attribute("size.x", .string)
          CompositeAttribute("size", parts: [Attribute("x", .double)])
        }
      ]
    },
    Fault("Composite 'A.size' has no parts.") { [Entity("A") { CompositeAttribute("size", parts: []) }] },
    Fault("Composite 'A.size' has two parts with the same name.") {
      [Entity("A") { CompositeAttribute("size", parts: [Attribute("x", .double), Attribute("x", .double)]) }]
    },
    Fault("The pattern of 'A.x' is not a valid regular expression.") {
      [Entity("A") { Attribute("x", .string, validation: [.pattern("a*"), .pattern("(")]) }]
    },
    Fault("The weak reference 'A.x' leads to 'B', which the model does not have.") {
      [
        Entity("A") {
          Attribute("x", .weakReference(to: "B"), optional: true)
          Attribute("y", .weakReference(to: "A"), optional: true)
          Attribute("z", .weakReference(to: nil), optional: true)
        }
      ]
    },
    Fault("The default of 'A.x' does not fit its type: The number is out of the range of int16.") {
      [Entity("A") { Attribute("x", .int16, default: 32_768) }]
    },
    Fault("The default of 'A.x' does not fit its type: The number is out of the range of int16.") {
      [Entity("A") { CompositeAttribute("c", parts: [Attribute("x", .int16, default: 32_768)]) }]
    },
    Fault("'A.c.x' is a part of a composite and cannot be derived; derive an attribute.") {
      [
        Entity("A") {
          CompositeAttribute("c", parts: [Attribute("x", .date, derived: .now), Attribute("y", .date)])
        }
      ]
    },
  ]

  private static let rules = [
    Fault(
      "A rule of 'A.x' bounds the length of a text or of data, but the type is int64; use `minimum` and `maximum`, or "
        + "remove the rule."
    ) { [Entity("A") { Attribute("x", .int64, validation: [.minimumLength(1), .maximumLength(9)]) }] },
    Fault("A rule of 'A.x' has a pattern for a text, but the type is data; remove the rule.") {
      [Entity("A") { Attribute("x", .data, validation: [.pattern("a*")]) }]
    },
    Fault("A bound of 'A.x' is no value of the type int16; give the bound the type of the attribute.") {
      [Entity("A") { Attribute("x", .int16, validation: [.minimum(.string("1")), .maximum(.int(9))]) }]
    },
    Fault("A bound of 'A.x' is no value of the type double; give the bound the type of the attribute.") {
      [Entity("A") { Attribute("x", .double, validation: [.maximum(.double(.nan))]) }]
    },
    Fault("The minimum of 'A.x' is above its maximum, so that no value is valid.") {
      [
        Entity("A") {
          Attribute(
            "x", .int64, optional: true,
            validation: [.minimum(.int(1)), .minimum(.int(3)), .maximum(.int(9)), .maximum(.int(2))])
        }
      ]
    },
    Fault("The rules of 'A.x' ask for a length of at least 3 and at most 2, so that no value is valid.") {
      [
        Entity("A") {
          CompositeAttribute(
            "c", parts: [Attribute("x", .string, validation: [.minimumLength(3), .maximumLength(2)])])
        }
      ]
    },
    Fault("The rules of 'A.x' ask for a length of at least 0 and at most -1, so that no value is valid.") {
      [Entity("A") { Attribute("x", .string, validation: [.maximumLength(-1)]) }]
    },
  ]

  private static let relationships = [
    Fault("Relationship 'A.r' leads to 'X', which the model does not have; add the entity or its class.") {
      [Entity("A") { Relationship("r", toOne: "X", inverse: "a") }]
    },
    Fault("Relationship 'A.r' asks for a negative number of members.") {
      [Entity("A") { Relationship("r", toMany: "A", inverse: nil, minimumCount: -1) }]
    },
    Fault("Relationship 'A.r' asks for a negative number of members.") {
      [Entity("A") { Relationship("r", toMany: "A", inverse: nil, maximumCount: -1) }]
    },
    Fault("Relationship 'A.r' asks for at least 3 and at most 2 members.") {
      [Entity("A") { Relationship("r", toMany: "A", inverse: nil, minimumCount: 3, maximumCount: 2) }]
    },
    Fault("The inverse of 'A.r', 'B.a', is not a relationship of the model.") {
      [Entity("A") { Relationship("r", toOne: "B", inverse: "a") }, Entity("B") { Attribute("a", .string) }]
    },
    Fault(
      "The inverse of 'B.a' is inherited; name the entity that declares it as the destination. "
        + "The inverse of 'A.r', 'B.a', does not point back: it leads to 'C'."
    ) {
      [
        Entity("B") { Relationship("a", toOne: "C", inverse: "r") },
        Entity("A") { Relationship("r", toOne: "B", inverse: "a") }, Entity("C", parent: "A"),
      ]
    },
    Fault("The inverse of 'A.r', 'B.a', does not point back: it has no inverse.") {
      [
        Entity("A") { Relationship("r", toOne: "B", inverse: "a") },
        Entity("B") { Relationship("a", toOne: "A", inverse: nil) },
      ]
    },
    Fault("The inverse of 'A.s', 'B.a', does not point back: its inverse is 'A.r'.") {
      [
        Entity("A") {
          Relationship("r", toOne: "B", inverse: "a")
          Relationship("s", toOne: "B", inverse: "a")
        }, Entity("B") { Relationship("a", toMany: "A", inverse: "r") },
      ]
    },
  ]

  private static let lists = [
    Fault("A constraint or index of 'A' names no property.") {
      [Entity("A", uniqueness: [[]]) { Attribute("x", .string) }]
    },
    Fault("A constraint or index of 'A' names no property.") {
      [Entity("A", indexes: [["x"], []]) { Attribute("x", .string) }]
    },
    Fault("A constraint or index of 'A' names the unknown 'y'.") {
      [Entity("A", uniqueness: [["x", "y"]]) { Attribute("x", .string) }]
    },
    Fault("A constraint or index of 'A' names the to-many relationship 'r'.") {
      [Entity("A", indexes: [["r"]]) { Relationship("r", toMany: "A", inverse: nil) }]
    },
    Fault(
      "Configuration 'a' names the unknown entity 'Y'. Configuration 'b' names the unknown entity 'X'.",
      configurations: ["b": ["A", "X"], "a": ["Y"]]
    ) { [Entity("A")] },
  ]

  @Test func `rules that exactly one value satisfies, and bounds of another type of numbers, are valid`() throws {
    let model = try ManagedObjectModel {
      Entity("A") {
        Attribute("number", .int64, validation: [.minimum(.double(0.5)), .maximum(.decimal(1)), .minimum(.int(1))])
        Attribute("text", .url, validation: [.minimumLength(2), .maximumLength(2), .pattern("[a-z]*")])
        Attribute("data", .data, validation: [.minimumLength(0), .maximumLength(0)])
        Attribute("tags", codable: [String].self, validation: [.maximumLength(9)])
      }
    }
    #expect(model.entities.count == 1)
  }

  @Test func `numbers of members at their bounds, and constraints over inherited properties and parts, are valid`()
    throws
  {
    let model = try ManagedObjectModel(entities: [
      Entity("A") {
        Attribute("x", .string)
        CompositeAttribute("size", parts: [Attribute("x", .double)])
        Relationship("none", toMany: "A", inverse: nil, minimumCount: 0, maximumCount: 0)
        Relationship("two", toMany: "A", inverse: nil, minimumCount: 2, maximumCount: 2)
        Relationship("one", toOne: "A", inverse: nil)
      },
      Entity("B", parent: "A", uniqueness: [["x", "y"], ["size.x"]], indexes: [["one"]]) { Attribute("y", .string) },
    ])
    #expect(model.entities.map(\.name) == ["A", "B"])
  }
}
