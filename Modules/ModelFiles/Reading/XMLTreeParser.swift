import CoherenceCore
import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Builds the tree of a file of XML with the parser of the platform.
final class XMLTreeParser: NSObject, XMLParserDelegate {
  private var root: XMLNode?
  /// The elements whose end tag has not been read, from the root inwards.
  private var openElements: [XMLNode] = []
  private var failure: XMLFault?
  private let path: String

  private init(path: String) { self.path = path }

  /// The root element of a file.
  ///
  /// Checks the bytes with ``XMLGuard`` first.
  ///
  /// - Parameter isPropertyList: Whether the file may begin with the document type of property lists, which is ignored.
  /// - Throws: ``XMLFault``.
  static func parse(_ data: Data, path: String, isPropertyList: Bool = false) throws(XMLFault) -> XMLNode {
    var data = data
    if isPropertyList { data = withoutPropertyListType(data) }
    try check(data, path: path)
    let reader = XMLTreeParser(path: path)
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    parser.delegate = reader
    // The result is true for some files with errors; the delegate sees every error.
    _ = parser.parse()
    if let failure = reader.failure { throw failure }
    guard let root = reader.root, reader.openElements.isEmpty else {
      throw XMLFault("the file ends before its root element", path: path)
    }
    return root
  }

  /// Refuses an empty file, a file that ``XMLGuard`` refuses, and a file in another encoding than UTF-8.
  private static func check(_ data: Data, path: String) throws(XMLFault) {
    if data.isEmpty { throw XMLFault("the file is empty", path: path) }
    // `XMLGuard` finds markup in UTF-8 only. In another encoding it would miss a document type.
    let result = data.withUnsafeBytes { raw -> Result<Void, XMLFault> in
      // Safety of `bindMemory`: the bytes are read as bytes, which every memory is.
      let bytes = raw.bindMemory(to: UInt8.self)
      do throws(XMLFault) {
        try XMLGuard.check(bytes, path: path)
        guard Self.isUTF8(bytes) else {
          throw XMLFault("the file is not in UTF-8", path: path)
        }
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  /// Whether the bytes are valid UTF-8 without a zero, and the XML declaration names UTF-8, its subset US-ASCII, or no
  /// encoding.
  ///
  /// A declaration in an unknown form, or with more than 200 bytes, counts as one with another encoding.
  private static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else { return false }
    let isMarked = bytes.starts(with: [0xEF, 0xBB, 0xBF])
    let head = String(decoding: bytes.dropFirst(isMarked ? 3 : 0).prefix(200), as: UTF8.self)
    // A name such as xml-stylesheet belongs to another instruction, for which the parser does not look at encodings.
    guard head.hasPrefix("<?xml"), !head.hasPrefix("<?xml-") else { return true }
    guard let end = head.range(of: "?>") else { return false }
    let texts = head[..<end.lowerBound].split { $0.isWhitespace || $0 == "=" || $0 == "\"" || $0 == "'" }
    guard let index = texts.firstIndex(of: "encoding") else {
      return !head[..<end.lowerBound].contains("encoding")
    }
    return index + 1 < texts.count && ["utf-8", "us-ascii"].contains(texts[index + 1].lowercased())
  }

  /// Replaces the document type of property lists by white space; lines keep their numbers.
  private static func withoutPropertyListType(_ data: Data) -> Data {
    let head = data.prefix(1000)
    guard let start = head.range(of: Data("<!DOCTYPE plist PUBLIC ".utf8)),
      let end = head[start.upperBound...].firstIndex(of: UInt8(ascii: ">")),
      !head[start.upperBound..<end].contains(UInt8(ascii: "["))
    else { return data }
    var data = data
    for index in start.lowerBound...end where data[index] != UInt8(ascii: "\n") { data[index] = UInt8(ascii: " ") }
    return data
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    let node = XMLNode(name, attributes: attributes, line: parser.lineNumber)
    if let parent = openElements.last {
      parent.append(node)
    } else if root == nil {
      root = node
    }
    openElements.append(node)
  }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    _ = openElements.popLast()
  }

  func parser(_ parser: XMLParser, foundCharacters characters: String) {
    guard let node = openElements.last else { return }
    // White space between two references, as in `a&amp; &amp;b`, is a part of the text. Indentation before the text is
    // not.
    if !node.text.isEmpty || characters.utf8.contains(where: { !Self.whiteSpace.contains($0) }) {
      node.append(characters)
    }
  }

  private static let whiteSpace = Set(" \t\r\n".utf8)

  func parser(_ parser: XMLParser, foundCDATA block: Data) {
    openElements.last?.append(String(decoding: block, as: UTF8.self))
  }

  func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
    guard failure == nil else { return }
    failure = XMLFault(
      "the text is not well-formed XML (error \((error as NSError).code) of the parser)", path: path,
      line: max(1, parser.lineNumber), element: openElements.last?.title)
    parser.abortParsing()
  }
}
