# An archive of the standard alone, in the language that its pair lists come from.
#
#   tclsh archive.tcl SERVICE RESOLVER-HOST RESOLVER-PORT RESOLVER-SERVICE KEY NEXT
#
# It is written from 004, chapters 4 to 7. It says that it is on when it starts, and that it is off
# when its input ends; whatever happens is told on its output, a list in each line.

lassign $argv service resolverHost resolverPort resolverService key next

# Its items: by label and relation, the pairs that Algorithm 2 makes of them.
set ibi(8JMKD3MGP7W/3EPGUE5) {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}
set ibi(sid.inpe.br/mtc-m19/2013/09.04.12.27.57) $ibi(8JMKD3MGP7W/3EPGUE5)
set ibi(8JMKD3MGP8W/35MMLL8) {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}
set nextEdition(8JMKD3MGP8W/35MMLL8) $next
foreach {label relation type path} {
    8JMKD3MGP7W/3EPGUE5 {} Data /col/report/Relat%f3rio%20Final.pdf
    sid.inpe.br/mtc-m19/2013/09.04.12.27.57 {} Data /col/report/Relat%f3rio%20Final.pdf
    8JMKD3MGP7W/3EPGUE5 .metadata(oai_dc) Metadata /col/report/metadata.cgi?choice=oai_dc
    8JMKD3MGP8W/35MMLL8 {} Data /col/older/CCSDS.pdf
} {
    set item($label,$relation) [list $type $path]
}

proc say {args} {
    puts $args
    flush stdout
}

# Section 4.1: a request is the query of a URL.
proc decoded {text} {
    set text [string map {+ " " \\ \\\\ \[ \\\[ \] \\\] $ \\$} $text]
    regsub -all {%([0-9A-Fa-f][0-9A-Fa-f])} $text {\\u00\1} text
    return [subst -novariables -nocommands $text]
}

proc pairsOf {query} {
    set pairs [dict create]
    foreach pair [split $query &] {
        set at [string first = $pair]
        dict set pairs [string range $pair 0 $at-1] [decoded [string range $pair $at+1 end]]
    }
    return $pairs
}

# Table 7.5: the relation that a list of verbs asks for.
proc relationOf {verbs} {
    set relation ""
    foreach verb $verbs {
        append relation .[string tolower [string map {Get {}} [regsub {\(.*} $verb {}]]]
        append relation [lindex [regexp -inline {\(.*\)} $verb] 0]
    }
    return $relation
}

# Algorithm 1.
proc answered {pairs} {
    global service ibi nextEdition item urls address
    switch [dict get $pairs servicesubject] {
        inclusionConfirmationRequest {
            return {confirmation yes}
        }
        acknowledgment {
            set urlkey [dict get $pairs urlkey]
            # Example 6.9: the escapes of the URL are not escaped once more.
            if {[info exists urls($urlkey)] && [decoded $urls($urlkey)] eq [dict get $pairs url]} {
                unset urls($urlkey)
                say counted [dict get $pairs url.persistent] [dict get $pairs state]
            }
            return {notice {acknowledgment received}}
        }
        urlRequest {
            set label [dict get $pairs parsedibiurl.ibi]
            if {![info exists ibi($label)]} {
                return {}
            }
            set verbs {}
            if {[dict exists $pairs parsedibiurl.verblist]} {
                set verbs [dict get $pairs parsedibiurl.verblist]
            }
            set relation [relationOf $verbs]
            set answer [list archiveaddress $address ibi $ibi($label) \
                ibi.archiveservice [list rep $service] \
                ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}]
            if {[info exists nextEdition($label)]} {
                lappend answer ibi.nextedition [list rep $nextEdition($label)]
            }
            if {[info exists item($label,$relation)]} {
                lassign $item($label,$relation) type path
                set urlkey [clock seconds]-[format %016.0f [expr {rand() * 1e16}]]
                set urls($urlkey) http://$address$path
                lappend answer contenttype$relation $type state$relation Original \
                    timestamp$relation 2014-04-04T17:36:01Z url$relation $urls($urlkey) \
                    urlkey $urlkey
            }
            return $answer
        }
    }
    return {status.error unknown-subject status.reason {This is no request.}}
}

# HTTP, as much as it takes.
proc accept {channel host port} {
    fconfigure $channel -translation {crlf binary} -blocking 0
    fileevent $channel readable [list heard $channel]
}

proc heard {channel} {
    global service requested
    if {[gets $channel line] < 0} {
        if {[eof $channel]} {
            close $channel
        }
        return
    }
    if {[regexp {^GET (\S+) HTTP} $line -> target]} {
        set requested($channel) $target
    } elseif {$line eq ""} {
        set target $requested($channel)
        unset requested($channel)
        if {[regexp {^/([^?]*)\?(.*)$} $target -> path query] && $path eq $service} {
            set pairs [pairsOf $query]
            say asked $pairs
            set body [answered $pairs]
        } else {
            set body "the item at $target"
        }
        fconfigure $channel -translation binary -blocking 1
        puts -nonewline $channel "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
        puts -nonewline $channel "Content-Length: [string length $body]\r\nConnection: close\r\n\r\n"
        puts -nonewline $channel $body
        close $channel
    }
}

# Table 5.2. The resolver asks back before it answers, so nobody waits here.
proc announce {subject} {
    global service resolverHost resolverPort resolverService key address
    set query [join [list servicesubject=$subject archiveaddress=$address \
        archiveserviceibi=$service archiveip=127.0.0.1 archiveprotocol=HTTP \
        archiveplatformversion=2014:11.09.02.16.15 archiveadmemailaddress=banon@dpi.inpe.br \
        registrationkey=$key] &]
    set channel [socket $resolverHost $resolverPort]
    fconfigure $channel -translation binary -blocking 0
    puts -nonewline $channel "GET /$resolverService?$query HTTP/1.0\r\nHost: $resolverHost\r\n\r\n"
    flush $channel
    fileevent $channel readable [list told $channel $subject]
}

proc told {channel subject} {
    global heardSoFar finished
    append heardSoFar($channel) [read $channel]
    if {[eof $channel]} {
        close $channel
        regexp {^(.*?)\r\n\r\n(.*)$} $heardSoFar($channel) -> head body
        # Table 4.2: a line end divides pairs as a blank does.
        say told [lindex $head 1] [string map {\r\n " "} $body]
        if {$subject eq "exclusionRequest"} {
            set finished yes
        }
    }
}

proc switchedOff {} {
    gets stdin
    if {[eof stdin]} {
        fileevent stdin readable {}
        announce exclusionRequest
    }
}

set listener [socket -server accept -myaddr 127.0.0.1 0]
set address 127.0.0.1:[lindex [fconfigure $listener -sockname] 2]
say listening $address
fconfigure stdin -blocking 0
fileevent stdin readable switchedOff
announce inclusionRequest
vwait finished
