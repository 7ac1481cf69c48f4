import Foundation
import Testing

@testable import DemoService

@Suite("Control paragraphs")
struct ControlParagraphsTests {
  @Test func `paragraphs end at empty lines and hold the wanted fields only`() {
    let text = "\n\nPackage: a\nVersion: 1\nTag: x\n\nPackage: b\n\n\n"
    #expect(Self.paragraphs(text) == [["Package": "a", "Version": "1"], ["Package": "b"]])
  }

  @Test func `a folded line continues the field above it and no other`() {
    let text = "Package: a\nTag: x,\n y\nDepends: b,\n\tc\n"
    #expect(Self.paragraphs(text) == [["Package": "a", "Depends": "b,\nc"]])
  }

  @Test func `the last paragraph needs no newline`() {
    #expect(Self.paragraphs("Package: a") == [["Package": "a"]])
  }

  @Test func `an empty text has no paragraphs`() {
    #expect(Self.paragraphs("").isEmpty)
  }

  private static func paragraphs(_ text: String) -> [[String: String]] {
    Array(ControlParagraphs(Data(text.utf8), fields: ["Package", "Version", "Depends"]))
  }
}
