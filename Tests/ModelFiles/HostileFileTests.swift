import CoherenceCore
import CoherenceModelFiles
import Foundation
import Testing

@Suite("Model files: faults")
struct HostileFileTests {
  /// Returns the message of the error from reading a text as a model.
  private static func fault(_ data: Data) -> String {
    do {
      _ = try ModelFile(xml: data, path: "Bad.xcdatamodel/contents")
      return "no error"
    } catch let error as CoherenceError {
      return error.code == .invalidModel ? error.message : "\(error.code)"
    } catch {
      return "another error"
    }
  }
  private static func fault(_ text: String) -> String { fault(Data(text.utf8)) }

  @Test func `a file that declares entities is refused before any of them is expanded`() throws {
    let levels = (1...30).map { "<!ENTITY e\($0) \"&e\($0 - 1);&e\($0 - 1);&e\($0 - 1);\">" }.joined()
    let bomb = "<!DOCTYPE model [<!ENTITY e0 \"ha\">\(levels)]>\n<model x=\"&e30;\">&e30;</model>"
    #expect(Self.fault(bomb).contains("declares a document type"))
    #expect(Self.fault("<?xml version=\"1.0\"?>\n" + bomb).contains("line 2"))
  }

  @Test func `a document type after an unfinished comment is refused`() {
    let type = "<!DOCTYPE model [<!ENTITY e \'ha\'>]>"
    let text = "<!--> <a x=\"-->\(type)<model><entity name=\'&e;\'/></model><!-- \"> -->"
    #expect(Self.fault(text).contains("declares a document type"))
    #expect(Self.fault("<!--->\(type)<model/><!-- -->").contains("cannot be read"))
    #expect(Self.fault("<?> <a x=\"?>\(type)<model/><!-- \"> -->").contains("document type"))
  }

  @Test(arguments: [
    "<?xml\tversion=\'1.0\' encoding=\'UTF-7\'?>", "<?xml version=\'1.0\'\n encoding = \"UTF-7\"?>",
    "<?xml version=\'1.0\'" + String(repeating: " ", count: 300) + "encoding=\'UTF-7\'?>",
    "<?xml version=\'1.0\' encoding=\'UTF-7\' standalone=\'utf-8\'?>",
    "\u{FEFF}<?xml version=\'1.0\' encoding=\'IBM037\'?>",
  ])
  func `a document type cannot hide in another encoding`(declaration: String) {
    let type = "+ADwAIQ-DOCTYPE model +AFsAPAAh-ENTITY e \'ha\'+AD4AXQA+-"
    #expect(Self.fault("\(declaration)\(type)<model><entity name=\'&e;\'/></model>").contains("not in UTF-8"))
  }

  @Test(arguments: [
    "", "<?xml version=\'1.0\'?>", "<?xml version=\"1.0\" encoding=\"utf-8\"?>", "\u{FEFF}<?xml version=\'1.0\'?>",
  ])
  func `a file in UTF-8 is read with and without a declaration`(declaration: String) throws {
    let file = try ModelFile(xml: Data("\(declaration)<model><entity name=\'Ä\'/></model>".utf8))
    #expect(file.entities.map(\.name) == ["Ä"])
  }

  @Test func `a file below the greatest size is read`() throws {
    let text =
      "<model>" + String(repeating: "<a b=\"\(String(repeating: "x", count: 900_000))\"/>", count: 8) + "</model>"
    #expect(try ModelFile(xml: Data(text.utf8)).otherElements.count == 8)
  }

  @Test func `a file with more elements than any model is refused`() {
    let many = "<model>\n" + String(repeating: "<a/>", count: 250_000) + "</model>"
    #expect(Self.fault(many).contains("line 2: the file has more than 250000 elements"))
  }

  @Test func `a file that names other files or addresses is refused without reading them`() throws {
    let secret = "<!DOCTYPE model [<!ENTITY x SYSTEM \"file:///etc/hostname\">]><model name=\"&x;\">&x;</model>"
    #expect(Self.fault(secret).contains("document type"))
    #expect(Self.fault("<!DOCTYPE model SYSTEM \"http://127.0.0.1:1/x.dtd\"><model/>").contains("document type"))
    #expect(Self.fault("<model><entity name=\"&x;\"/></model>").contains("not well-formed"))
  }

  @Test func `endless nesting is refused`() {
    #expect(Self.fault(String(repeating: "<model>", count: 1_000_000)).contains("nested more than 64"))
  }

  @Test func `a tag above the size limit, and a tag with more attributes than any model, are refused`() {
    let long = "<model>\n<entity name=\"" + String(repeating: "x", count: 2_000_000) + "\"/></model>"
    #expect(Self.fault(long).contains("line 2"))
    #expect(Self.fault(long).contains("more than 1000000 bytes"))
    let many = "<model " + (0..<100_000).map { "a\($0)=\"\"" }.joined(separator: " ") + "/>"
    #expect(Self.fault(many).contains("more than 256 attributes"))
  }

  @Test func `a file of white space and a file above the size limit are refused`() {
    #expect(Self.fault(Data(repeating: 32, count: 100_000_000)).contains("more than 8000000 bytes"))
    #expect(Self.fault(Data(repeating: 32, count: 1_000_000)).contains("cannot be read"))
  }

  @Test(arguments: [
    ("", "empty"), ("hello", "cannot be read"), ("<model>\n<entity name=\"A\">\n<attr", "line 3"),
    ("<model><entity name=\"A\"></entity>", "not well-formed"), ("<model></model><model/>", "not well-formed"),
    ("<model x=\"1\" x=\"2\"></model>", "not well-formed"), ("<plist></plist>", "<plist>"),
    ("<?xml version=\"1.0\" encoding=\"UTF-16\"?><model/>", "UTF-8"), ("<model><!-- ", "comment"),
    ("<?xml version=\"1.0\" encoding=\"UTF-7\"?><model/>", "UTF-8"), ("<model><![CDATA[", "section"),
  ])
  func `a text without a model throws an error with its file and line`(text: String, part: String) {
    #expect(Self.fault(text).contains(part), "\(Self.fault(text))")
    #expect(Self.fault(text).contains("Bad.xcdatamodel/contents"))
  }

  @Test func `a file cut or changed at any byte either throws an error or returns a model`() {
    let text = MusicFile.model(
      """
      <!-- c --><entity name="A" parentEntity="B"><attribute name="x" attributeType="Date" defaultDateTimeInterval="0"/>
      <userInfo><entry key="k" value="&lt;"/></userInfo></entity><![CDATA[t]]>
      """)
    let bytes = Data(text.utf8)
    for end in bytes.indices { #expect(Self.fault(bytes[..<end]).contains("cannot be read"), "\(end)") }
    for index in bytes.indices {
      var changed = bytes
      changed[index] = [60, 34, 38, 0, 255][index % 5]
      let fault = Self.fault(changed)
      #expect(fault == "no error" || fault.contains("cannot be read"), "\(index): \(fault)")
    }
  }

  @Test func `bytes in another encoding than UTF-8 are refused`() {
    #expect(Self.fault(Data([0, 1, 2, 255, 254])).contains("UTF-8"))
    #expect(Self.fault(Data("<model x=\"".utf8) + Data([0xFF]) + Data("\"/>".utf8)).contains("UTF-8"))
    #expect(Self.fault("<model/>".data(using: .utf16)!).contains("cannot be read"))
  }

  @Test(arguments: [
    ("<entity></entity>", "<entity>"), ("<entity name=\"A\"/>\n<entity name=\"A\"/>", "line 4"),
    ("<entity name=\"A\"><attribute name=\"x\"/></entity>", "'attributeType'"),
    ("<entity name=\"A\"><attribute name=\"x\" optional=\"maybe\" attributeType=\"String\"/></entity>", "'optional'"),
    ("<entity name=\"A\"><relationship name=\"r\"/></entity>", "'destinationEntity'"),
    ("<entity name=\"A\"><relationship name=\"r\" destinationEntity=\"A\" deletionRule=\"x\"/></entity>", "Cascade"),
    ("<entity name=\"A\"><relationship name=\"r\" destinationEntity=\"A\" maxCount=\"-1\"/></entity>", "'maxCount'"),
    (
      "<entity name=\"A\">\n<attribute name=\"x\" attributeType=\"String\"/>\n"
        + "<relationship name=\"x\" destinationEntity=\"A\"/></entity>", "'A' has two properties"
    ),
    ("<configuration name=\"C\"/><configuration name=\"C\"/>", "two configurations"),
    ("<composite name=\"C\"/>\n<compositeAttribute name=\"C\"/>", "two composite types"),
    ("<compositeAttribute name=\"C\"/>\n<compositeAttribute name=\"C\"/>", "two composite types"),
    ("<entity name=\"A\"><fetchIndex name=\"i\"><fetchIndexElement/></fetchIndex></entity>", "neither a property"),
    ("<entity name=\"A\"><attribute name=\"x\" attributeType=\"String\" derived=\"YES\"/></entity>", "derivation"),
  ])
  func `a fault of an element names the element and its line`(contents: String, part: String) {
    let message = Self.fault(MusicFile.model(contents))
    #expect(message.contains(part), "\(message)")
    #expect(message.contains("line ") && message.contains("<"), "\(message)")
  }

  @Test(arguments: [
    ("<attribute name=\"x\" attributeType=\"Complex\"/>", "'Complex'"),
    ("<attribute name=\"x\" attributeType=\"Integer 16\" defaultValueString=\"70000\"/>", "default"),
    ("<attribute name=\"x\" attributeType=\"Decimal\" defaultValueString=\"12abc\"/>", "default"),
    ("<attribute name=\"x\" attributeType=\"Decimal\" defaultValueString=\"1-2\"/>", "default"),
    ("<attribute name=\"x\" attributeType=\"Decimal\" defaultValueString=\"1.2.3\"/>", "default"),
    ("<attribute name=\"x\" attributeType=\"Double\" minValueString=\"nan\"/>", "minimum"),
    ("<attribute name=\"x\" attributeType=\"Date\" defaultDateTimeInterval=\"soon\"/>", "default"),
    ("<attribute name=\"x\" attributeType=\"String\" maxValueString=\"many\"/>", "maximum"),
    ("<attribute name=\"x\" attributeType=\"Double\" minValueString=\"low\"/>", "minimum"),
    ("<attribute name=\"x\" attributeType=\"String\" regularExpressionString=\"(\"/>", "pattern"),
    ("<attribute name=\"x\" attributeType=\"Composite\" compositeName=\"None\"/>", "composite"),
    ("<attribute name=\"x\" attributeType=\"Composite\" compositeName=\"Loop\"/>", "contains itself"),
    ("<relationship name=\"x\" destinationEntity=\"None\" deletionRule=\"Nullify\"/>", "'None'"),
    (
      "<attribute name=\"x\" attributeType=\"String\" elementID=\"o\"/>"
        + "<attribute name=\"y\" attributeType=\"String\" elementID=\"o\"/>", "same renaming identifier"
    ),
  ])
  func `a fault of the model names the file and the property`(contents: String, part: String) throws {
    let loop =
      "<composite name=\"Loop\"><attribute name=\"l\" attributeType=\"Composite\" compositeName=\"Loop\"/></composite>"
    let file = try MusicFile.make(MusicFile.model("<entity name=\"A\">\(contents)</entity>\(loop)"))
    #expect { try file.model() } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains(part) && "\($0)".contains("Music.xcdatamodel")
    }
  }
}
