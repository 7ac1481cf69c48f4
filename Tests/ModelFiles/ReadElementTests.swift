import CoherenceCore
import CoherenceModelFiles
import Foundation
import Testing

@Suite("Model files: elements")
struct ReadElementTests {
  /// The message of the error from reading a text, or `no error`.
  private static func fault(_ text: String) -> String {
    do {
      _ = try MusicFile.make(text)
      return "no error"
    } catch {
      return "\(error)"
    }
  }

  static func entity(_ contents: String) -> String { "<entity name=\"A\">\(contents)</entity>" }

  // MARK: Faults

  static let faults: [(String, String)] = [
    (
      entity("<fetchIndex name=\"i\"><fetchIndexElement property=\"n\" order=\"sideways\"/></fetchIndex>"),
      "the attribute 'order' is neither"
    ),
    (
      entity("<uniquenessConstraints><uniquenessConstraint/></uniquenessConstraints>"),
      "the constraint names no property"
    ),
    (
      "<fetchRequest name=\"f\" entity=\"A\"/><fetchRequest name=\"f\" entity=\"A\"/>",
      "two fetch requests are named 'f'"
    ),
    (
      entity("<attribute name=\"f\" attributeType=\"String\"/><fetchedProperty name=\"f\"/>"), "'A' has two properties"
    ),
    (
      entity("<userInfo><entry key=\"k\" value=\"1\"/><entry key=\"k\" value=\"2\"/></userInfo>"),
      "two entries with the key 'k'"
    ),
  ]

  @Test(arguments: faults)
  func `a repeated name, a missing property and an unknown order are faults`(contents: String, part: String) {
    let message = Self.fault(MusicFile.model(contents))
    #expect(message.contains(part), "\(message)")
  }

  @Test func `a composite type without parts is a fault of the attribute with its line`() throws {
    let attribute = "<attribute name=\"box\" attributeType=\"Composite\" compositeName=\"Box\"/>"
    let file = try MusicFile.make(MusicFile.model(Self.entity(attribute) + "<composite name=\"Box\"/>"))
    #expect { try file.model() } throws: {
      "\($0)".contains("Attribute 'A.box' (line 3) is a composite whose parts the file does not declare")
    }
  }

  @Test(arguments: [(200, true), (201, false)])
  func `a fault of an element names the element unless its name is very long`(length: Int, isNamed: Bool) {
    let name = String(repeating: "x", count: length)
    let message = Self.fault(MusicFile.model("<entity name=\"\(name)\" isAbstract=\"maybe\"/>"))
    #expect(message.contains(isNamed ? "<entity name=\"\(name)\">" : "<entity>"), "\(message)")
  }

  // MARK: Limits

  @Test func `the limit of nesting counts open elements, and not elements beside each other`() throws {
    let beside = (0..<70).map { "<entity name=\"E\($0)\"></entity>" }.joined()
    #expect(try MusicFile.make(MusicFile.model(beside)).entities.count == 70)
    func nested(_ depth: Int) -> String {
      "<model>" + String(repeating: "<a>", count: depth - 1) + String(repeating: "</a>", count: depth - 1) + "</model>"
    }
    #expect(Self.fault(nested(64)) == "no error")
    #expect(Self.fault(nested(65)).contains("nested more than 64 deep"))
  }

  @Test func `an element may have 256 attributes`() {
    func model(_ count: Int) -> String { "<model \((0..<count).map { "a\($0)=\"\"" }.joined(separator: " "))/>" }
    #expect(Self.fault(model(256)) == "no error")
    #expect(Self.fault(model(257)).contains("more than 256 attributes"))
  }

  // MARK: Encodings

  @Test(arguments: [
    "<?xml-stylesheet href=\'a\' encoding=\'UTF-7\'?>", "<?xml version=\'1.0\' encoding=\'US-ASCII\'?>",
  ])
  func `an instruction before the root element does not change the encoding of the file`(instruction: String) {
    #expect(Self.fault("\(instruction)<model/>") == "no error")
  }

  // MARK: Values

  @Test func `counts of zero are read, and a greatest number of zero is no limit`() throws {
    let relationship =
      "<relationship name=\"r\" optional=\"YES\" toMany=\"YES\" minCount=\"0\" maxCount=\"0\" destinationEntity=\"A\"/>"
    let file = try MusicFile.make(MusicFile.model(Self.entity(relationship)))
    #expect(file.entities[0].relationships[0].minimumCount == 0)
    #expect(file.entities[0].relationships[0].maximumCount == 0)
    #expect(try file.model().entities[0].relationship(named: "r")?.maximumCount == nil)
    #expect(file.warnings == [])
  }

  @Test func `the renaming identifier, the user info and the transience of a relationship are read`() throws {
    let userInfo = "<userInfo><entry key=\"k\" value=\"v\"/></userInfo>"
    let file = try MusicFile.make(
      MusicFile.model(
        Self.entity(
          "<relationship name=\"r\" transient=\"YES\" elementID=\"s\" destinationEntity=\"A\">\(userInfo)</relationship>"
        )
      ))
    let relationship = file.entities[0].relationships[0]
    #expect(relationship.isTransient && relationship.renamingIdentifier == "s" && relationship.userInfo == ["k": "v"])
    #expect(relationship.otherAttributes == [:])
    #expect(file.warnings == ["Relationship 'A.r' is transient and left out."])
    #expect(try MusicFile.make(file.xml) == file)
  }

  @Test func `a fetch request of a file leaves subentities out if the file says so`() throws {
    let file = try MusicFile.make(
      MusicFile.model(Self.entity("") + "<fetchRequest name=\"own\" entity=\"A\" includeSubentities=\"NO\"/>"))
    #expect(file.fetchRequests[0].includesSubentities == false && file.fetchRequests[0].otherAttributes == [:])
    #expect(try !file.fetchRequest(named: "own").includesSubentities)
  }

  @Test func `a default beyond the exact numbers of floating point keeps every digit`() throws {
    let attribute = "<attribute name=\"n\" attributeType=\"Integer 64\" defaultValueString=\"9007199254740993\"/>"
    let file = try MusicFile.make(MusicFile.model(Self.entity(attribute)))
    #expect(try file.model().entities[0].attribute(named: "n")?.defaultValue == .int(9_007_199_254_740_993))
  }

  @Test func `a date beyond the range of dates is a fault`() throws {
    let attribute = "<attribute name=\"n\" attributeType=\"Date\" defaultDateTimeInterval=\"9000000000000\"/>"
    let file = try MusicFile.make(MusicFile.model(Self.entity(attribute)))
    #expect { try file.model() } throws: { "\($0)".contains("is not a value of the type 'Date'") }
  }

  @Test func `several user infos of a part are one, and are written as one in the order of the keys`() throws {
    let userInfos = ["b", "a"].map { "<userInfo><entry key=\"\($0)\" value=\"1\"/></userInfo>" }.joined()
    let file = try MusicFile.make(MusicFile.model(Self.entity(userInfos)))
    #expect(file.entities[0].userInfo == ["a": "1", "b": "1"])
    let entries = file.xml.split(separator: "\n").filter { $0.contains("<userInfo>") || $0.contains("<entry ") }
      .map { $0.trimmingCharacters(in: .whitespaces) }
    #expect(entries == ["<userInfo>", "<entry key=\"a\" value=\"1\"/>", "<entry key=\"b\" value=\"1\"/>"])
  }

  @Test(arguments: ["canonical:(ab", "canonical:(a-b)", "canonical:()", "canonical:(@a)", "fold:(a)"])
  func `a text with another derivation than the editor's is an ordinary optional one, with a warning`(
    text: String
  ) throws {
    let attribute = ModelFile.Attribute("n", .string, derivation: text)
    let file = ModelFile(entities: [ModelFile.Entity("A", attributes: [attribute])])
    let declared = try #require(try file.declaration(of: attribute, in: file.entities[0]).first as? Attribute)
    #expect(declared.derived == nil && declared.isOptional)
    #expect(file.warnings.count == 1)
  }

  // MARK: Composites

  @Test func `an attribute names its composite type in any setting, or by its own name`() throws {
    let file = try MusicFile.make(
      MusicFile.model(
        Self.entity(
          "<attribute name=\"size\" attributeType=\"Composite\" compositeType=\"Box\"/>"
            + "<attribute name=\"point\" attributeType=\"Composite\"/>")
          + "<composite name=\"Box\"><attribute name=\"w\" attributeType=\"Double\"/></composite>"
          + "<composite name=\"Point\"><attribute name=\"x\" attributeType=\"Double\"/></composite>"))
    #expect(try Set(file.model().entities[0].attributes.map(\.name)) == ["size.w", "point.x"])
    #expect(file.warnings == [])
  }

  @Test(arguments: [(24, 24 + 40 * 25), (25, 25 + 40)])
  func `the former names of a composite and of its part are combined up to a thousand names`(
    count: Int, expected: Int
  ) throws {
    func setting(_ prefix: String, _ count: Int) -> [String: String] {
      ["coherence.formerNames": (0..<count).map { "\(prefix)\($0)" }.joined(separator: ",")]
    }
    let part = ModelFile.Attribute("x", .double, userInfo: setting("y", count))
    let box = ModelFile.Attribute("box", .composite, parts: [part], userInfo: setting("crate", 40))
    let model = try ModelFile(entities: [ModelFile.Entity("A", attributes: [box])]).model()
    #expect(model.entities[0].attribute(named: "box.x")?.formerNames.count == expected)
  }

  // MARK: Warnings

  @Test func `the editor's own settings of the root have no warning`() throws {
    let names = [
      "name", "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
      "sourceLanguage", "macOSVersion", "iOSVersion", "tvOSVersion", "watchOSVersion", "usedWithSwiftData",
    ]
    let file = try MusicFile.make("<model \(names.map { "\($0)=\"x\"" }.joined(separator: " "))/>")
    #expect(file.otherAttributes.count == names.count)
    #expect(file.warnings == [])
  }

  @Test func `a warning of an element of an index names the property or the expression`() throws {
    func index(_ name: String, _ element: String) -> String {
      "<fetchIndex name=\"\(name)\"><fetchIndexElement \(element) type=\"Binary\" collation=\"x\"/></fetchIndex>"
    }
    let indexes = index("i", "property=\"n\"") + index("j", "expression=\"lowercase:(n)\"")
    let file = try MusicFile.make(
      MusicFile.model(Self.entity("<attribute name=\"n\" attributeType=\"String\"/>" + indexes)))
    for (index, element) in [("i", "n"), ("j", "lowercase:(n)")] {
      let title = "Index '\(index)' of 'A': the element '\(element)'"
      #expect(file.warnings.contains("\(title) has the setting 'collation', which has no effect."))
    }
  }

  @Test func `the error of a missing value names the first variable without a value`() {
    let template = ModelFile.FetchTemplate("q", entity: "A", predicate: "n == $C OR n == $B OR n == $A")
    #expect {
      try ModelFile(fetchRequests: [template]).fetchRequest(named: "q", substituting: ["A": 1])
    } throws: {
      "\($0)".contains("the variable '$B'")
    }
  }
}
