/// Refuses XML with a greater size or depth than any model, before a parser sees it.
///
/// One pass over the bytes, in constant memory. The parser of the platform expands entities, takes quadratic time for
/// elements with very many attributes, and has no bound on the depth. Models need no document type, so the guard refuses
/// every document type, and with it every declaration of an entity.
///
/// The guard finds markup in UTF-8 only; ``XMLTreeParser`` refuses files in other encodings. The guard does not check
/// whether the file is well-formed, as the parser does.
struct XMLGuard {
  /// The bounds of a file.
  struct Limits {
    /// The greatest size in bytes: a model of 200 entities has about 350,000. The parser refuses files of 10 MB as not
    /// well-formed.
    var size = 8_000_000
    /// The greatest depth of elements with an end tag: models need 5.
    var depth = 64
    /// The greatest number of attributes of an element: models need about 20.
    var attributes = 256
    /// The greatest size of a tag with its attributes, in bytes.
    var tag = 1_000_000
    /// The greatest number of elements: a model of 200 entities has about 3,000.
    var elements = 250_000
  }

  private let bytes: UnsafeBufferPointer<UInt8>
  private let limits: Limits
  private let path: String
  private var position = 0
  private var depth = 0
  private var elements = 0

  private init(_ bytes: UnsafeBufferPointer<UInt8>, limits: Limits, path: String) {
    self.bytes = bytes
    self.limits = limits
    self.path = path
  }

  /// Checks the bytes of a file.
  ///
  /// - Throws: ``XMLFault``.
  static func check(_ bytes: UnsafeBufferPointer<UInt8>, limits: Limits = Limits(), path: String) throws(XMLFault) {
    guard bytes.count <= limits.size else {
      throw XMLFault("the file has more than \(limits.size) bytes, which no model needs", path: path)
    }
    var check = XMLGuard(bytes, limits: limits, path: path)
    try check.run()
  }

  /// Visits the markup of the file.
  private mutating func run() throws(XMLFault) {
    while let start = index(of: "<", from: position) {
      position = start + 1
      guard position < bytes.count else { return }
      switch bytes[position] {
      case UInt8(ascii: "!"): try skipDeclaration(start)
      case UInt8(ascii: "?"): try skip(to: "?>", after: "<?", of: "a processing instruction", start)
      case UInt8(ascii: "/"):
        depth -= 1
        try skip(to: ">", after: "</", of: "an end tag", start)
      default: try scanTag(start)
      }
    }
  }

  /// Skips a comment or a CDATA section, and refuses a declaration.
  private mutating func skipDeclaration(_ start: Int) throws(XMLFault) {
    if hasPrefix("!--") {
      try skip(to: "-->", after: "<!--", of: "a comment", start)
    } else if hasPrefix("![CDATA[") {
      try skip(to: "]]>", after: "<![CDATA[", of: "a CDATA section", start)
    } else {
      throw fault("the file declares a document type or an entity, which no model needs", start)
    }
  }

  /// Skips a start tag and counts its attributes by their quoted values.
  private mutating func scanTag(_ start: Int) throws(XMLFault) {
    elements += 1
    if elements > limits.elements { throw fault("the file has more than \(limits.elements) elements", start) }
    var quote: UInt8?
    var attributes = 0
    let end = min(bytes.count, start + limits.tag)
    while position < end {
      let byte = bytes[position]
      position += 1
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
        attributes += 1
        if attributes > limits.attributes {
          throw fault("an element has more than \(limits.attributes) attributes", start)
        }
      } else if byte == UInt8(ascii: ">") {
        if bytes[position - 2] == UInt8(ascii: "/") { return }
        depth += 1
        if depth > limits.depth { throw fault("elements are nested more than \(limits.depth) deep", start) }
        return
      }
    }
    if end < bytes.count { throw fault("the tag of an element has more than \(limits.tag) bytes", start) }
    throw fault("the file ends within the tag of an element", start)
  }

  /// Moves behind the end of a part. The end begins after the whole opening: `<!-->` opens a comment and does not end
  /// it, and a guard that took `<!-->` for a whole comment would read the markup after it in another way than the
  /// parser.
  ///
  /// - Parameters:
  ///   - end: The characters that end the part.
  ///   - opening: The characters that begin the part.
  ///   - part: The part with its article, for the error of a file that ends in it.
  ///   - start: The index of the opening.
  private mutating func skip(
    to end: StaticString, after opening: StaticString, of part: String, _ start: Int
  ) throws(XMLFault) {
    let last = end.utf8Start[end.utf8CodeUnitCount - 1]
    let length = end.utf8CodeUnitCount
    let inside = start + opening.utf8CodeUnitCount
    position = min(inside, bytes.count)
    while let found = bytes[position...].firstIndex(of: last) {
      position = found + 1
      let text = bytes[max(inside, position - length)..<position]
      if text.elementsEqual(UnsafeBufferPointer(start: end.utf8Start, count: length)) { return }
    }
    throw fault("the file ends within \(part)", start)
  }

  private func index(of character: Unicode.Scalar, from start: Int) -> Int? {
    bytes[min(start, bytes.count)...].firstIndex(of: UInt8(ascii: character))
  }

  private func hasPrefix(_ text: StaticString) -> Bool {
    bytes[position...].prefix(text.utf8CodeUnitCount)
      .elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// A fault in the line of an index. Only a fault counts the lines, so that the check of a sound file does not.
  private func fault(_ reason: String, _ start: Int) -> XMLFault {
    XMLFault(reason, path: path, line: 1 + bytes[..<start].count { $0 == UInt8(ascii: "\n") })
  }
}
